#include "cmd/dt-merge/average.hpp"

#include <charconv>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/text/text.hpp"

namespace dt::merge_tool {

namespace {

Error invalid_average(const std::string& average, const std::string& expected) {
  return Error(ErrorKind::usage, fmt::format("--average {}", average), expected);
}

double parse_number(const std::string& average, std::string_view text) {
  double value = 0;
  const std::string_view digits = trim(text);
  const auto end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value))
    throw invalid_average(average, fmt::format("'{}' is not a number", text));
  return value;
}

std::vector<double> parse_weights(const std::string& average, const std::string& list, std::size_t count) {
  std::vector<double> weights;
  for (const std::string& text : split(list, ',')) weights.push_back(parse_number(average, text));
  if (weights.size() != count) {
    throw invalid_average(average,
                          fmt::format("it has {} weights for {} checkpoints: give one each, in their order",
                                      weights.size(), count));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (std::abs(sum - 1) > 1e-6)
    throw invalid_average(average, fmt::format("its weights sum to {}, expected 1", sum));
  return weights;
}

std::vector<double> exponential_weights(const std::string& average, const std::string& text,
                                        std::size_t count) {
  const double decay = parse_number(average, text);
  if (!(decay > 0 && decay <= 1))
    throw invalid_average(average, "expected a decay above 0 and up to 1, such as ema=0.9");
  std::vector<double> weights(count);
  double weight = 1;
  for (std::size_t i = count; i-- > 0; weight *= decay) weights[i] = weight;
  return weights;
}

}  // namespace

std::vector<double> average_weights(const std::string& average, std::size_t num_checkpoints) {
  if (average == "uniform") return std::vector<double>(num_checkpoints, 1);
  if (average.starts_with("weights=")) return parse_weights(average, average.substr(8), num_checkpoints);
  if (average.starts_with("ema=")) return exponential_weights(average, average.substr(4), num_checkpoints);
  throw invalid_average(average, "expected uniform, weights=W1,W2,… or ema=DECAY");
}

}  // namespace dt::merge_tool
