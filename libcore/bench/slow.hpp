#pragma once
// Finds values that are low among their like.

#include <string>
#include <vector>

namespace dt::bench {

/// Returns the median; 0 for no values. Of an even number of values it is the higher of the two in the
/// middle, so that of two that should be alike the slower one shows.
double median(std::vector<double> values);

struct Standing {
  double median = 0;  // median among its like
  bool is_slow = false;
};
/// Returns how each of `values`, of which more is better, compares with those of its name in `likes`. A
/// value below `fraction` of their median is slow.
std::vector<Standing> stand(const std::vector<std::string>& likes, const std::vector<double>& values,
                            double fraction);

}  // namespace dt::bench
