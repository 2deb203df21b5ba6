#pragma once
// Describes a product to cuBLASLt.

#include <memory>

#include "kernels/cuda/matmul/cublas_lt/library.cuh"
#include "kernels/cuda/matmul/matmul.hpp"

namespace dt::kernels::cuda::cublas_lt {

using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<&Library::cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<&Library::cublasLtMatrixLayoutDestroy>>;

/// outputᵀ = rightᵀ · leftᵀ, whose bias is a column. The library's matrices are column-major, so it
/// reads a row-major matrix as its transpose.
struct Description {
  Description(Device device, Arithmetic arithmetic, const Matmul& product);
  Layout right, left, output;
  Operation operation;
};

}  // namespace dt::kernels::cuda::cublas_lt
