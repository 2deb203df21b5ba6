#include "kernels/cuda/table.hpp"

#include "kernels/cuda/kernels.hpp"

namespace dt::kernels::cuda {

const GpuKernels table{add,  add_bias_residual, accumulate, convert, convert_columns, sum_squares_by_block,
                       adamw};

}  // namespace dt::kernels::cuda
