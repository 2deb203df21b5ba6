#pragma once
// Finds values that are low among their like.

#include <string>
#include <vector>

namespace dt::bench {

/// Returns the median; 0 for no values. For an even number of values it is the higher of the two in
/// the middle. The slower of two devices is thus compared with the faster one.
double median(std::vector<double> values);

struct RelativeRate {
  double median = 0;  // median among its like
  bool is_slow = false;
};
/// Returns how each of `values` compares with the values of the same name in `likes`. More is
/// better. A value below `fraction` of their median is slow.
std::vector<RelativeRate> compare_to_median(const std::vector<std::string>& likes,
                                            const std::vector<double>& values, double fraction);

}  // namespace dt::bench
