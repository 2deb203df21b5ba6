#include "kernels/newton_schulz.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/numeric/exact_sum.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

namespace dt::kernels::cpu {

namespace {

constexpr float a = 3.4445F, b = -4.7750F, c = 2.0315F;

double frobenius_norm(const Context& context, const Tensor& u_RC) {
  const Arena::Scope scope(context.scratch());
  const Tensor partials_N = context.scratch().allocate(DType::f64, {num_sum_blocks(u_RC.numel())});
  sum_squares_by_block(context, u_RC.flat(0, u_RC.numel()), partials_N);
  ExactSum sum;
  sum.add(partials_N.span<double>());
  return std::sqrt(sum.value());
}

void divide(const Context& context, const Tensor& x, float divisor) {
  float* const values = x.data<float>();
  for_elements(context, x.numel(), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) values[i] /= divisor;
  });
}

/// Replaces square_SS = A² by a·I + b·A + c·A².
void make_polynomial(const Context& context, const Tensor& A_SS, const Tensor& square_SS) {
  const std::int64_t S = A_SS.dim(0);
  const float* const once = A_SS.data<float>();
  float* const twice = square_SS.data<float>();
  for_ranges(context, S, S, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * S; i < end * S; ++i) twice[i] = b * once[i] + c * twice[i];
    for (std::int64_t r = begin; r < end; ++r) twice[r * S + r] += a;
  });
}

}  // namespace

/// Both A and the polynomial P are symmetric. So a matrix with more rows than columns needs no transpose: its
/// A is Xᵀ·X, and its step X·P.
void newton_schulz(const Context& context, const Tensor& u_RC, const Tensor& x_RC) {
  const std::int64_t R = u_RC.dim(0), C = u_RC.dim(1), S = std::min(R, C);
  const bool is_tall = R > C;
  const Arena::Scope scope(context.scratch());
  const Tensor A_SS = context.scratch().allocate(DType::f32, {S, S}),
               P_SS = context.scratch().allocate(DType::f32, {S, S});
  Tensor now = u_RC, next = x_RC;
  divide(context, now, static_cast<float>(frobenius_norm(context, u_RC) + 1e-7));
  constexpr int steps = 5;
  static_assert(steps % 2 == 1, "the last step writes x_RC");
  for (int step = 0; step < steps; ++step) {
    if (is_tall) {
      zero(context, A_SS);
      linear_backward_weight(context, now, now, A_SS, {});
    } else {
      linear(context, now, now, {}, {}, A_SS);
    }
    linear(context, A_SS, A_SS, {}, {}, P_SS);
    make_polynomial(context, A_SS, P_SS);
    if (is_tall)
      linear(context, now, P_SS, {}, {}, next);
    else
      linear_backward_input(context, P_SS, now, next);
    std::swap(now, next);
  }
}

}  // namespace dt::kernels::cpu
