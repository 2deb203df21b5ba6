#pragma once
// Chooses cuBLASLt's algorithm for a product.

#include <cstddef>
#include <optional>

#include "kernels/cuda/matmul/cublas_lt/library.cuh"
#include "kernels/cuda/matmul/matmul.hpp"

namespace dt::kernels::cuda::cublas_lt {

struct Algorithm {
  cublasLtMatmulAlgo_t algorithm;
  std::size_t workspace_bytes;
};

/// Returns the first algorithm that the library's heuristic names, or nothing if it has none. The
/// heuristic is asked once for each problem: the same product of operands that are aligned alike has
/// the same algorithm.
/// Thread safety: any rank's thread may ask, for its current GPU.
std::optional<Algorithm> choose_algorithm(const Context& context, const Matmul& product);

}  // namespace dt::kernels::cuda::cublas_lt
