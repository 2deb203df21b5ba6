#pragma once
// Lists all kernels for GPUs, by the names of the public functions.

#include "kernels/gpu_kernels.hpp"

namespace dt::kernels::cuda {

extern const GpuKernels table;

}  // namespace dt::kernels::cuda
