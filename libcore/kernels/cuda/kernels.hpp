#pragma once
// The kernels for GPUs, with the public functions' signatures. Arguments were checked already.

#include "kernels/attention.hpp"
#include "kernels/elementwise.hpp"

namespace dt::kernels::cuda {

decltype(kernels::attention) attention;
decltype(kernels::attention_backward) attention_backward;
decltype(kernels::merge_attention) merge_attention;
decltype(kernels::rotary) rotary;

decltype(kernels::add) add;
decltype(kernels::add_bias_residual) add_bias_residual;
decltype(kernels::accumulate) accumulate;
decltype(kernels::convert) convert;
decltype(kernels::convert_columns) convert_columns;
decltype(kernels::sum_squares_by_block) sum_squares_by_block;

}  // namespace dt::kernels::cuda
