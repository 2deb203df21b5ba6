#pragma once
// The kernels for GPUs, with the public functions' signatures. Arguments were checked already.

#include "kernels/adamw.hpp"
#include "kernels/elementwise.hpp"

namespace dt::kernels::cuda {

decltype(kernels::add) add;
decltype(kernels::add_bias_residual) add_bias_residual;
decltype(kernels::accumulate) accumulate;
decltype(kernels::convert) convert;
decltype(kernels::convert_columns) convert_columns;
decltype(kernels::sum_squares_by_block) sum_squares_by_block;

decltype(kernels::adamw) adamw;

}  // namespace dt::kernels::cuda
