#include "kernels/cuda/table.hpp"

#include "kernels/cuda/launch/kernels.hpp"

namespace dt::kernels::cuda {

#define DT_ENTRY(name) .name = name,
const GpuKernels table{DT_GPU_KERNELS(DT_ENTRY)};
#undef DT_ENTRY

}  // namespace dt::kernels::cuda
