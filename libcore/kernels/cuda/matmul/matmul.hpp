#pragma once
// Multiplies matrices on a GPU by a library: cuBLASLt, and for tests the reference. A program is
// linked with one of them: enqueue_matmul, kernels::matmul_library and matmul_algorithms.

#include <cstdint>
#include <vector>

#include "tensor/context.hpp"
#include "tensor/device/accelerator.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels::cuda {

/// The most scratch memory that a product may take beside its tensors.
inline constexpr std::size_t most_workspace_bytes = std::size_t{32} << 20;

/// A matrix as it is stored, row by row (rows may be padded), or its transpose.
struct MatmulOperand {
  Tensor stored;
  bool transposed = false;
};

/// output_MN = left_MK · right_KN + bias_N + added_MN. The product applies no activation. An
/// activation of the unrounded sum would have other bits than one that is recomputed from the
/// rounded output (--recompute).
/// Shapes: M, N and K are positive. bias and added may be absent; added may be the output. The
/// output's rows may be padded if nothing is added.
/// Numerics: all tensors have one dtype, but with 16-bit factors the others may be fp32.
struct Matmul {
  MatmulOperand left, right;
  Tensor bias_N{}, added_MN{}, output_MN{};
  bool allows_tf32 = true;

  /// Returns the format in which factors are multiplied: the context's, but TF32 only if the product allows
  /// it.
  Arithmetic arithmetic_in(const Context& context) const {
    const Arithmetic asked = context.arithmetic();
    return asked == Arithmetic::tf32 && !allows_tf32 ? Arithmetic::fp32 : asked;
  }
};

/// Returns what tells the product from others; see Accelerator::submit.
WorkKey key_of(const Context& context, const Matmul& product);

/// Enqueues a product.
/// Numerics: sums are fp64 for fp64, else fp32. Factors of fp32 are rounded to TF32 first if the
/// context says so (Context::arithmetic) and the product allows it. The same product of operands that are
/// aligned alike has the same bits, on one kind of GPU with one version of the library.
/// Errors: environment, naming the device and what the library says.
void matmul(const Context& context, const Matmul& product);

/// Alignment in bytes of a bias that the library is given. The library is told the alignment of the
/// other operands, but not of this one, and its kernels load 16 bytes of it at once.
/// Source: github.com/pytorch/pytorch/pull/194497.
inline constexpr std::uintptr_t bias_alignment = 16;
/// Enqueues the product by the library. Returns false, and has enqueued nothing, if the library has
/// no algorithm for it. The bias, if there is one, is aligned, and is added before the sum is
/// rounded.
bool enqueue_matmul(const Context& context, const Matmul& product);

/// Returns the products that make to_NK = dy_RNᵀ · x_RK + added_NK. It is one product, or two if N
/// elements are no whole number of 16 bytes, though the rows of dy are. Then the last few features
/// are a product of their own, so that the product of the others keeps the library's fast kernels.
std::vector<Matmul> weight_gradient_matmuls(const Tensor& dy_RN, const Tensor& x_RK, const Tensor& added_NK,
                                            const Tensor& to_NK);

}  // namespace dt::kernels::cuda
