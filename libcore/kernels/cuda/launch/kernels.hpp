#pragma once
// Declares the kernels for GPUs, with the public functions' signatures. Arguments were checked
// already.

#include "kernels/gpu_kernels.hpp"

namespace dt::kernels::cuda {

#define DT_DECLARATION(name) decltype(kernels::name) name;
DT_GPU_KERNELS(DT_DECLARATION)
#undef DT_DECLARATION

}  // namespace dt::kernels::cuda
