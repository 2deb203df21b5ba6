#pragma once
// The GPUs that CUDA shows this program.
//
// A device's index counts those that dt can use (tensor/device/gpu_probe.hpp); its ordinal is CUDA's
// number.

#include <string>
#include <vector>

#include "tensor/device/gpu_probe.hpp"

namespace dt::cuda {

DriverProbe probe_driver();

/// Returns the GPUs that can be used, by index. Asks the driver at each call until it reports a
/// usable GPU.
/// Errors: those of usable_gpus().
std::vector<Gpu> gpus();

/// Returns CUDA's number of a device, or its index if gpus() was not called yet.
int ordinal_of(Device device);

/// Returns the device's name for messages: "n1: cuda:0 (NVIDIA H200, 0000:01:00.0)". Leaves out the
/// brackets if gpus() was not called yet.
std::string device_label(Device device);

}  // namespace dt::cuda
