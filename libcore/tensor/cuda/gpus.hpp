#pragma once
// The GPUs that CUDA shows this program.

#include <string>
#include <vector>

#include "tensor/accelerator.hpp"

namespace dt::cuda {

/// By index; the driver is asked once. Errors: environment, why there is none, or which is too old.
std::vector<Gpu> gpus();

/// For messages: "n1: cuda:0 (NVIDIA H200, 0000:01:00.0)". Where nobody has asked for gpus(), without what is
/// in brackets.
std::string name_of(Device device);

}  // namespace dt::cuda
