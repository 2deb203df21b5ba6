#pragma once
// Declares the kernels for GPUs, with the public functions' signatures. Arguments were checked
// already.

#include "kernels/dispatch.hpp"

namespace dt::kernels::cuda {

#define DT_DECLARATION(name) decltype(kernels::name) name;
DT_GPU_KERNELS(DT_DECLARATION)
#undef DT_DECLARATION

#define DT_ENTRY(name) .name = name,
/// Lists all kernels for GPUs, by the names of the public functions.
inline const GpuKernels table{DT_GPU_KERNELS(DT_ENTRY)};
#undef DT_ENTRY

}  // namespace dt::kernels::cuda
