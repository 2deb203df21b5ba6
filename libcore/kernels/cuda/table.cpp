#include "kernels/cuda/table.hpp"

#include "kernels/cuda/kernels.hpp"

namespace dt::kernels::cuda {

const GpuKernels table{
    layer_norm,      layer_norm_backward,  rms_norm, rms_norm_backward, gelu,       gelu_backward,
    swiglu,          swiglu_backward,      add,      add_bias_residual, accumulate, convert,
    convert_columns, sum_squares_by_block,
};

}  // namespace dt::kernels::cuda
