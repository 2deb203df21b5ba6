#pragma once
// The kernels for GPUs, with the public functions' signatures. Arguments were checked already.

#include "kernels/adamw.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"

namespace dt::kernels::cuda {

decltype(kernels::embedding) embedding;
decltype(kernels::embedding_backward) embedding_backward;

decltype(kernels::cross_entropy) cross_entropy;
decltype(kernels::cross_entropy_gradient) cross_entropy_gradient;
decltype(kernels::cross_entropy_part) cross_entropy_part;
decltype(kernels::cross_entropy_of_parts) cross_entropy_of_parts;
decltype(kernels::cross_entropy_gradient_of_parts) cross_entropy_gradient_of_parts;

decltype(kernels::add) add;
decltype(kernels::add_bias_residual) add_bias_residual;
decltype(kernels::accumulate) accumulate;
decltype(kernels::convert) convert;
decltype(kernels::convert_columns) convert_columns;
decltype(kernels::sum_squares_by_block) sum_squares_by_block;

decltype(kernels::adamw) adamw;

}  // namespace dt::kernels::cuda
