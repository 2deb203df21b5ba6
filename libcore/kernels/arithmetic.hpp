#pragma once
// The arithmetic of matrix products: what this machine supports, how fast it is, and what GPUs multiply with.

#include <string>
#include <vector>

#include "tensor/context.hpp"

namespace dt::kernels {

/// Returns whether the processor has the instructions of `arithmetic`, even if this process may not
/// use them.
bool cpu_has(Arithmetic arithmetic);
/// Returns why this machine does not multiply matrices in `arithmetic`, as text after "the CPU of
/// HOST"; empty if it does. fp32 always works. bf16 and amx need the processor's instructions; amx
/// also needs the kernel's permission for this process.
std::string arithmetic_unavailable_reason(Arithmetic arithmetic);
inline bool supports_arithmetic(Arithmetic arithmetic) {
  return arithmetic_unavailable_reason(arithmetic).empty();
}

/// Returns the type of the matrices that an arithmetic multiplies. fp32 also multiplies others, widened.
constexpr DType operand_dtype(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::fp32 || arithmetic == Arithmetic::tf32 ? DType::f32 : DType::bf16;
}

/// Returns the library for products on GPUs, with its version: "cuBLASLt 13.1.0".
/// Errors: environment if it is missing.
std::string matmul_library();
/// Returns the library's algorithms that this process has used so far, by product, sorted. Bits
/// depend on them in addition to versions. A few dozen lines of text.
std::vector<std::string> matmul_algorithms();

/// Returns the FLOP/s of the fastest of some large products in `arithmetic` (of fp32, or of bf16),
/// measured for about `seconds`.
double measure_matmul_rate(const Context& context, Arithmetic arithmetic, double seconds);
/// Returns the same for the context's GPU and `dtype`. Products grow until one keeps the GPU busy.
double measure_gpu_matmul_rate(const Context& context, DType dtype, double seconds);

}  // namespace dt::kernels
