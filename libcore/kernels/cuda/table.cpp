#include "kernels/cuda/table.hpp"

#include "kernels/cuda/kernels.hpp"

namespace dt::kernels::cuda {

const GpuKernels table{
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .rms_norm = rms_norm,
    .rms_norm_backward = rms_norm_backward,

    .gelu = gelu,
    .gelu_backward = gelu_backward,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,

    .attention = attention,
    .attention_backward = attention_backward,
    .merge_attention = merge_attention,
    .rotary = rotary,

    .embedding = embedding,
    .embedding_backward = embedding_backward,

    .cross_entropy = cross_entropy,
    .cross_entropy_gradient = cross_entropy_gradient,
    .cross_entropy_part = cross_entropy_part,
    .cross_entropy_of_parts = cross_entropy_of_parts,
    .cross_entropy_gradient_of_parts = cross_entropy_gradient_of_parts,

    .add = add,
    .add_bias_residual = add_bias_residual,
    .accumulate = accumulate,
    .convert = convert,
    .convert_columns = convert_columns,
    .fill = fill,
    .sum_squares_by_block = sum_squares_by_block,

    .adamw = adamw,
};

}  // namespace dt::kernels::cuda
