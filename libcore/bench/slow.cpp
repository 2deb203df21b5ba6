#include "bench/slow.hpp"

#include <algorithm>
#include <map>

namespace dt::bench {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<RelativeRate> compare_to_median(const std::vector<std::string>& likes,
                                            const std::vector<double>& values, double fraction) {
  std::map<std::string, std::vector<double>> values_of;
  for (std::size_t i = 0; i < values.size(); ++i) values_of[likes[i]].push_back(values[i]);
  std::map<std::string, double> median_of;
  for (const auto& [like, its_values] : values_of) median_of[like] = median(its_values);
  std::vector<RelativeRate> standings;
  for (std::size_t i = 0; i < values.size(); ++i)
    standings.push_back({median_of[likes[i]], values[i] < fraction * median_of[likes[i]]});
  return standings;
}

}  // namespace dt::bench
