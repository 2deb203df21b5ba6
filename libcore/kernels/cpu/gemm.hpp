#pragma once
// dt's own matrix product: c_MN = a_MK · b_KN for row-major matrices of fp32, bf16 or fp16.

#include <string>

#include "base/dtype.hpp"
#include "tensor/context.hpp"

namespace dt::kernels::cpu {

/// A row-major matrix; `transposed` says that it enters the product as the transpose of what is stored,
/// `stride` is the distance in elements from one stored row to the next.
struct Matrix {
  const void* data;
  std::int64_t stride;
  bool transposed = false;
};

/// c = a · b + bias + residual, or c += with `accumulate`. Formats: f32, bf16, f16, each side its own.
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
  Arithmetic arithmetic = Arithmetic::fp32;  // other than fp32 for operands of bf16 alone
};

/// Whether the processor has the instructions that it takes, whoever may use them.
bool cpu_has(Arithmetic arithmetic);
/// Why this machine cannot multiply so, as what follows "the CPU of HOST"; empty where it can. fp32 always
/// can (operands are widened while they are packed). bf16 and amx take exact products, and subnormal operands
/// and sums as zero.
std::string why_not(Arithmetic arithmetic);

/// Sums are fp32 and c is rounded once. Each element of c has the same bits whatever M and N, the number of
/// threads, and the place and stride of the matrices: it is a sum of chains over fixed stretches of k (with
/// amx, one chain of them). Scratch is the context's: the packed operands, some 30 MB at most, and the sums.
void multiply(const Context& context, const Product& product);

}  // namespace dt::kernels::cpu
