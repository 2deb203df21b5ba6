#pragma once
// The conditions under which cuBLAS multiplies at its best speed.

#include <cstdint>
#include <string>

#include "kernels/cuda/matmul/matmul.hpp"

namespace dt::test_device {

/// Returns which of cuBLAS's conditions a product breaks, by cuBLAS's names for them; empty if
/// none. cuBLAS is column-major: to cuBLAS a product is outputᵀ = rightᵀ · leftᵀ, A is right, B
/// left, C the output, m N, n M and k K.
/// Source: docs.nvidia.com/cuda/cublas, section 2.1.11, "Tensor Core Usage".
inline std::string broken_alignment(const kernels::cuda::Matmul& p) {
  std::string broken;
  const auto bytes = [](const Tensor& of, std::int64_t count) {
    return static_cast<std::uintptr_t>(count) * dtype_bytes(of.dtype());
  };
  const auto require = [&](const char* what, std::uintptr_t value) {
    if (value % 16 != 0) broken += (broken.empty() ? "" : ", ") + std::string(what);
  };
  const Tensor &a = p.right.stored, &b = p.left.stored, &c = p.output_MN;
  require("op_A == N ? m : k", bytes(a, a.dim(1)));  // rows of a matrix as stored, whether transposed or not
  require("op_B == N ? k : n", bytes(b, b.dim(1)));
  require("m", bytes(c, c.dim(1)));
  require("lda", bytes(a, a.pitch()));
  require("ldb", bytes(b, b.pitch()));
  require("ldc", bytes(c, c.pitch()));
  require("A", reinterpret_cast<std::uintptr_t>(a.raw()));
  require("B", reinterpret_cast<std::uintptr_t>(b.raw()));
  require("C", reinterpret_cast<std::uintptr_t>(c.raw()));
  return broken;
}

}  // namespace dt::test_device
