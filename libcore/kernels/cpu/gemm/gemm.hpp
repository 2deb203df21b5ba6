#pragma once
// dt's own matrix product: c_MN = a_MK · b_KN for row-major matrices of fp32, bf16 or fp16.

#include <string>

#include "base/numeric/dtype.hpp"
#include "tensor/context.hpp"

namespace dt::kernels::cpu {

/// A row-major matrix. If `transposed`, the product uses the transpose of the stored matrix.
/// `stride` is the distance in elements between stored rows.
struct Matrix {
  const void* data;
  std::int64_t stride;
  bool transposed = false;
};

/// The product c = a · b + bias + residual, or c += that with `accumulate`. Operands and output are
/// each f32, bf16 or f16.
struct Product {
  std::int64_t M, N, K;
  DType operands;
  Matrix a, b;
  DType output;
  void* c;
  std::int64_t c_stride;
  bool accumulate = false;
  const void* bias = nullptr;  // N values, of bias_dtype
  DType bias_dtype = DType::f32;
  const void* residual = nullptr;  // M × N values of c's dtype; may be c itself
  std::int64_t residual_stride = 0;
  Arithmetic arithmetic = Arithmetic::fp32;  // other than fp32 only for bf16 operands
};

/// Returns whether the processor has the instructions of `arithmetic`, even if this process may not
/// use them.
bool cpu_has(Arithmetic arithmetic);
/// Returns why this machine cannot multiply in `arithmetic`, as text after "the CPU of HOST"; empty
/// if it can. fp32 always works: operands are widened during packing.
/// Numerics: bf16 and amx compute exact products, and treat subnormal operands and sums as zero.
std::string arithmetic_unavailable_reason(Arithmetic arithmetic);

/// Computes the product. Scratch is the context's: the packed operands, about 30 MB at most, and
/// the sums.
/// Numerics: sums are fp32, and c is rounded once. An element of c has the same bits for any M and
/// N, any number of threads, and any place and stride of the matrices. It is a sum of chains over
/// fixed stretches of k (a single chain of them with amx).
void multiply(const Context& context, const Product& product);

}  // namespace dt::kernels::cpu
