#pragma once
// NCCL in a program of tests: simulated on the test device, or the machine's own.

#include <string>
#include <vector>

#include "tensor/device/device.hpp"

namespace dt::test_device {

/// Makes NCCL the program's stream library, if a test device or a GPU is used.
void use_nccl();
/// Returns the sizes that a group of ranks, as threads of this process, may have; none if NCCL is missing.
std::vector<int> nccl_group_sizes();
/// Returns the device on which such a rank computes.
Device nccl_device_of(int rank);

}  // namespace dt::test_device
