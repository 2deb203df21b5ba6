#pragma once
// Which of its algorithms cuBLASLt takes for a product.

#include <cstddef>
#include <optional>

#include "kernels/cuda/cublas_lt/library.cuh"
#include "kernels/cuda/products.hpp"

namespace dt::kernels::cuda::cublas_lt {

struct Algorithm {
  cublasLtMatmulAlgo_t algorithm;
  std::size_t workspace_bytes;
};

/// The first that the library's heuristic names, which is asked once for each problem: the same for the same
/// product of operands that are aligned alike. None where the library has none. Any rank's thread may ask, of
/// its current GPU.
std::optional<Algorithm> choose_algorithm(const Context& context, const Product& product);

}  // namespace dt::kernels::cuda::cublas_lt
