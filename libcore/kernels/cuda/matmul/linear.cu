#include "kernels/cuda/launch/column_sums.cuh"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"
#include "kernels/cuda/matmul/matmul.hpp"

namespace dt::kernels::cuda {

namespace {

/// Sums each column over runs of rows. A block has a vector of columns for each lane. A warp takes rows
/// in turn, in the same order however many at once. If vectors are whole, it takes several at once, so
/// that as many loads are under way.
template <class T, class Count>
__global__ void __launch_bounds__(threads_per_block, blocks_of_columns_at_once)
    sum_columns_of_runs(const T* x, std::int64_t R, std::int64_t C, std::int64_t pitch, std::int64_t rows,
                        Value<T>* sums) {
  using V = Value<T>;
  constexpr int N = vec_size<T>, at_once = std::is_same_v<Count, FullVec> ? 4 : 1;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * warp_size * N,
                     c = first + threadIdx.x % warp_size * N, run = blockIdx.y, begin = run * rows;
  const std::int64_t end = begin + rows < R ? begin + rows : R;
  Vec<V, N> sum{};
  if (c < C) {
    const auto left = static_cast<Count>(C - c);
    const T* p = x + (begin + own_row()) * pitch + c;
    const std::int64_t step = warps_per_block * pitch;
    for (std::int64_t r = begin + own_row(); r < end; r += at_once * warps_per_block, p += at_once * step) {
      Elements<T, N> added[at_once];
      for (int i = 0; i < at_once; ++i) {
        added[i] = {};
        if (r + i * warps_per_block < end) added[i] = load_elements<N>(p + i * step, left);
      }
      for (const auto& elements : added) {
        const auto values = widened<T, N>(elements);
        for (int e = 0; e < N; ++e) sum.at[e] += values.at[e];
      }
    }
  }
  auto* const of_warps = reinterpret_cast<Vec<V, N>*>(shared_bytes());
  of_warps[threadIdx.x] = sum;
  __syncthreads();
  const auto* const values = reinterpret_cast<const V*>(of_warps);
  const unsigned own = threadIdx.x;
  if (own >= warp_size * N || first + own >= C) return;
  V whole = values[own];
  for (int warp = 1; warp < warps_per_block; ++warp) whole += values[warp * warp_size * N + own];
  sums[run * C + first + own] = whole;
}

/// Returns whether a product of such factors cannot be added to the gradient directly.
bool needs_conversion(DType factors, DType gradient) {
  return is_narrow_float(gradient) && factors != gradient;
}

void multiply_gradient(const Context& context, const Tensor& dy_RN, const Tensor& x_RK,
                       const Tensor& added_NK, const Tensor& to_NK) {
  for (const Matmul& product : weight_gradient_matmuls(dy_RN, x_RK, added_NK, to_NK))
    matmul(context, product);
}

}  // namespace

void linear(const Context& context, const Tensor& x_RK, const Tensor& w_NK, const Tensor& bias_N,
            const Tensor& residual_RN, const Tensor& y_RN) {
  if (y_RN.numel() == 0) return;
  matmul(context, {{x_RK}, {w_NK, true}, bias_N, residual_RN, y_RN});
}

void linear_backward_input(const Context& context, const Tensor& dy_RN, const Tensor& w_NK,
                           const Tensor& dx_RK) {
  if (dx_RK.numel() == 0) return;
  matmul(context, {{dy_RN}, {w_NK}, Tensor(), Tensor(), dx_RK});
}

void linear_backward_weight(const Context& context, const Tensor& dy_RN, const Tensor& x_RK,
                            const Tensor& dw_NK, const Tensor& dbias_N) {
  if (dy_RN.dim(0) == 0) return;
  if (needs_conversion(dy_RN.dtype(), dw_NK.dtype())) {
    const Arena::Scope scope(context.scratch());
    const Tensor product_NK = context.scratch().allocate(DType::f32, dw_NK.shape());
    multiply_gradient(context, dy_RN, x_RK, Tensor(), product_NK);
    cuda::accumulate(context, product_NK, dw_NK);
  } else {
    multiply_gradient(context, dy_RN, x_RK, dw_NK, dw_NK);
  }
  // cuBLASLt's epilogue BGRADB would spare the reading of dy. It is not used, for three reasons. The
  // order and type of its sums are not documented. It excludes kernels whose loss may be more than
  // that reading. It overwrites what is to be added to. gpu_rates measures both.
  if (dbias_N) cuda::bias_backward(context, dy_RN, dbias_N);
}

void bias_backward(const Context& context, const Tensor& dy_RN, const Tensor& dbias_N) {
  const std::int64_t R = dy_RN.dim(0), N = dy_RN.dim(1);
  if (R == 0) return;
  with_elements(dy_RN.dtype(), [&](auto element) {
    using T = decltype(element);
    using V = Value<T>;
    const Arena::Scope scope(context.scratch());
    constexpr int lanes = vec_size<T>;
    const Runs runs = runs_of_columns(lanes, R, N);
    const Tensor sums_RN = context.scratch().allocate(dtype_of<V>(), {runs.count, N});
    const bool is_whole = dy_RN.pitch() % lanes == 0 && can_vectorize<T>(N, {dy_RN.raw()});
    launch(context, "bias_backward", grid_for_columns(lanes, N, runs.count, sizeof(V)),
           is_whole ? sum_columns_of_runs<T, FullVec> : sum_columns_of_runs<T, std::int64_t>, dy_RN.data<T>(),
           R, N, dy_RN.pitch(), runs.rows, sums_RN.data<V>());
    add_sums_of_runs(context, "bias_backward", sums_RN, dbias_N);
  });
}

}  // namespace dt::kernels::cuda
