#include <algorithm>
#include <utility>

#include "kernels/cuda/launch/block_reduce.cuh"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"
#include "kernels/cuda/matmul/matmul.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/newton_schulz.hpp"

namespace dt::kernels::cuda {

namespace {

/// Sets the divisor to √(sum of the partials) + 1e-7. The grid is one block.
template <class T>
__global__ void make_divisor(const double* partials, std::int64_t count, T* divisor) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += partials[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *divisor = static_cast<T>(std::sqrt(sum) + 1e-7);
}

template <class T>
__global__ void divide_elements(T* x, const T* divisor, std::int64_t count) {
  constexpr int N = vec_size<T>;
  const T by = *divisor;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    auto values = load_vec<N>(x + i, left);
    for (int e = 0; e < N; ++e) values.at[e] /= by;
    store_vec<N>(x + i, left, values);
  });
}

/// Replaces `square` = A² by 3.4445·I − 4.7750·A + 2.0315·A². The matrices have S rows and columns.
template <class T>
__global__ void make_polynomial(const T* A, T* square, std::int64_t S) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(S, S, [&](std::int64_t r, std::int64_t c, std::int64_t left) {
    const auto once = load_vec<N>(A + r * S + c, left);
    auto twice = load_vec<N>(square + r * S + c, left);
    for (int e = 0; e < N; ++e) {
      twice.at[e] = T(-4.7750) * once.at[e] + T(2.0315) * twice.at[e];
      if (c + e == r) twice.at[e] += T(3.4445);
    }
    store_vec<N>(square + r * S + c, left, twice);
  });
}

template <class T>
void divide_by_norm(const Context& context, const Tensor& u_RC) {
  const std::int64_t count = u_RC.numel();
  const Arena::Scope scope(context.scratch());
  const Tensor partials_N = context.scratch().allocate(DType::f64, {num_sum_blocks(count)}),
               divisor = context.scratch().allocate(u_RC.dtype(), {1});
  cuda::sum_squares_by_block(context, u_RC.flat(0, count), partials_N);
  launch(context, "newton_schulz", grid_for_sums(1, sizeof(double)), make_divisor<T>,
         partials_N.data<double>(), partials_N.numel(), divisor.data<T>());
  launch(context, "newton_schulz", grid_for_vecs(vec_size<T>, count), divide_elements<T>, u_RC.data<T>(),
         divisor.data<T>(), count);
}

/// Runs all steps. Both A and the polynomial P are symmetric. So a matrix with more rows than columns needs
/// no transpose: its A is Xᵀ·X, and its step is X·P.
template <class T>
void orthogonalise(const Context& context, const Tensor& u_RC, const Tensor& x_RC) {
  const std::int64_t R = u_RC.dim(0), C = u_RC.dim(1), S = std::min(R, C);
  const bool is_tall = R > C;
  divide_by_norm<T>(context, u_RC);
  const Arena::Scope scope(context.scratch());
  const Tensor A_SS = context.scratch().allocate(u_RC.dtype(), {S, S}),
               P_SS = context.scratch().allocate(u_RC.dtype(), {S, S});
  const auto multiply = [&](const MatmulOperand& left, const MatmulOperand& right, const Tensor& output) {
    matmul(context, {.left = left, .right = right, .output_MN = output, .allows_tf32 = false});
  };
  Tensor now = u_RC, next = x_RC;
  constexpr int steps = 5;
  static_assert(steps % 2 == 1, "the last step writes x_RC");
  for (int step = 0; step < steps; ++step) {
    context.throttle();
    multiply({now, is_tall}, {now, !is_tall}, A_SS);
    multiply({A_SS}, {A_SS}, P_SS);
    launch(context, "newton_schulz", grid_for_vecs(vec_size<T>, S, S), make_polynomial<T>, A_SS.data<T>(),
           P_SS.data<T>(), S);
    if (is_tall)
      multiply({now}, {P_SS}, next);
    else
      multiply({P_SS}, {now}, next);
    std::swap(now, next);
  }
}

}  // namespace

void newton_schulz(const Context& context, const Tensor& u_RC, const Tensor& x_RC) {
  if (u_RC.numel() == 0) return;
  if (u_RC.dtype() == DType::f64)
    orthogonalise<double>(context, u_RC, x_RC);
  else
    orthogonalise<float>(context, u_RC, x_RC);
}

}  // namespace dt::kernels::cuda
