#pragma once
// The host's time to give a GPU a kernel: one by one, and in graphs of earlier work.

#include <string>
#include <vector>

namespace dt::test_device {

/// The host's time for each kernel.
struct LaunchTime {
  std::string kernel;
  double one_by_one_s, in_graphs_s;
};

/// Measures small kernels and products on the first GPU; returns the shortest of `times` rounds.
std::vector<LaunchTime> launch_times(int times);

}  // namespace dt::test_device
