#pragma once
// The GPUs that CUDA shows this program.
//
// A device's index counts those that dt can use (tensor/usable_gpus.hpp); its ordinal is CUDA's number of it.

#include <string>
#include <vector>

#include "tensor/usable_gpus.hpp"

namespace dt::cuda {

DriverAnswer ask_driver();

/// Returns those that can be used, by index; asks the driver until it tells of one. Errors: as of
/// usable_gpus.
std::vector<Gpu> gpus();

/// Returns CUDA's number of a device; its index, where nobody has asked for gpus().
int ordinal_of(Device device);

/// For messages: "n1: cuda:0 (NVIDIA H200, 0000:01:00.0)". Where nobody has asked for gpus(), without what is
/// in brackets.
std::string name_of(Device device);

}  // namespace dt::cuda
