#pragma once
// What it takes the host to give a GPU a kernel: as it is, and in graphs of what has come before.

#include <string>
#include <vector>

namespace dt::test_device {

/// Of the host's time, of each.
struct LaunchTime {
  std::string kernel;
  double one_by_one_s, in_graphs_s;
};

/// Of small kernels and products on the first GPU, the shortest of `times` rounds.
std::vector<LaunchTime> launch_times(int times);

}  // namespace dt::test_device
