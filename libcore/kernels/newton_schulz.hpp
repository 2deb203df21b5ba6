#pragma once
// The nearest matrix with orthonormal rows or columns, approximately: Muon's direction.
// Legend: R rows, C columns, S the lesser of both.

#include <cstddef>

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Sets x_RC to what five Newton–Schulz steps make of u_RC. With X = u / (‖u‖ + 1e-7), ‖u‖ the Frobenius
/// norm, a step is A = X·Xᵀ, X = (3.4445·I − 4.7750·A + 2.0315·A²)·X; of a matrix with more rows than
/// columns it is made of the transpose. Singular values approach 1 from either side: they end between about
/// 0.7 and 1.2. u is overwritten; x must not alias it.
/// Numerics: one dtype, f32 or f64. The norm is a sum of fp64 partials: exact on hosts, in a fixed order on
/// GPUs. Products are linear()'s, of fp32 never in TF32. So the bits depend on the elements alone, not on
/// the number of threads; on a GPU also on the alignment of u and x.
/// Source: Jordan et al. 2024, "Muon"; coefficients as there.
void newton_schulz(const Context& context, const Tensor& u_RC, const Tensor& x_RC);

/// Returns the bytes of scratch memory that the call takes, without what products pack.
std::size_t newton_schulz_scratch_bytes(DType dtype, std::int64_t R, std::int64_t C);
/// Returns the floating-point operations of the call.
double newton_schulz_flops(std::int64_t R, std::int64_t C);

}  // namespace dt::kernels
