#pragma once
// Products of matrices on a GPU, which a library multiplies: cuBLASLt, and for tests the reference. A program
// is linked with one of them, which also is kernels::product_library and product_algorithms.

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels::cuda {

/// Of scratch memory that a product may take beside its tensors.
inline constexpr std::size_t most_workspace_bytes = std::size_t{32} << 20;

/// A matrix as it is stored, row by row, which may be padded, or its transpose.
struct Factor {
  Tensor stored;
  bool transposed = false;
};

/// output_MN = left_MK · right_KN + bias_N + added_MN; all of one dtype, but of 16-bit factors the others may
/// be fp32. M, N and K are positive. bias and added may be absent; added may be the output.
/// The output's rows may be padded where nothing is added. No activation is made of it: that of a sum which
/// is not rounded yet would have other bits than one that is made again of what was kept (--recompute).
struct Product {
  Factor left, right;
  Tensor bias_N, added_MN, output_MN;
};

/// Enqueues it. Sums are fp64 of fp64, else fp32; factors of fp32 are rounded to TF32 first where the context
/// says so (Context::arithmetic). The same product of operands that are aligned alike has the
/// same bits, on one kind of GPU with one version of the library. Errors: environment, naming the device and
/// what the library says.
void multiply(const Context& context, const Product& product);

}  // namespace dt::kernels::cuda
