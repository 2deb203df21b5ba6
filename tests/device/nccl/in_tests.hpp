#pragma once
// NCCL in a program of tests: played on the test device, or the machine's own.

#include <string>
#include <vector>

#include "tensor/device.hpp"

namespace dt::test_device {

/// Makes it the program's stream library, where a test device or a GPU is used.
void use_nccl();
/// Of how many ranks, as threads of this process, a group may be; none where NCCL is missing.
std::vector<int> nccl_group_sizes();
/// Where such a rank computes.
Device nccl_device_of(int rank);

}  // namespace dt::test_device
