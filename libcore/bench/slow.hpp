#pragma once
// What is slow beside its like.

#include <string>
#include <vector>

namespace dt::bench {

/// Of an even number the higher of the two in the middle: of two that should be alike the slower one shows. 0
/// of none.
double median(std::vector<double> values);

struct Standing {
  double median = 0;  // of its like
  bool is_slow = false;
};
/// How each of `values`, of which more is better, stands among those of its name in `likes`: slow is what is
/// below `fraction` of their median.
std::vector<Standing> stand(const std::vector<std::string>& likes, const std::vector<double>& values,
                            double fraction);

}  // namespace dt::bench
