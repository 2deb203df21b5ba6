#include "kernels/cuda/launch/column_sums.cuh"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/norm_rows.cuh"

namespace dt::kernels::cuda {

namespace {

/// The backward pass of a norm; without mean it is RMS norm. `dresidual` may be null, and `dx` may
/// be `dresidual`, `dy` or `x`. For each run of `rows` rows `sums` gets C sums for dweight, and
/// with `sums_dy` C more for dbias. With x̂ = (x − mean) · rstd and g = dy · factor, which is weight
/// or, with a kernel's `plus_one`, 1 + weight:
/// dx = dresidual + rstd · (g − mean(g) − x̂ · mean(g · x̂)), without mean(g) for RMS norm.
/// The sums are of dy · x̂ and of dy.
template <class T>
struct NormBackward {
  const T *dy, *x, *weight;
  const Value<T>*mean, *rstd;
  const T* dresidual;
  T* dx;
  std::int64_t R, C, rows;
  double inverse;  // 1 / C
  Value<T>* sums;
  std::int64_t sums_dy;         // 1: sums for dbias, too; else 0
  std::int32_t of_row, groups;  // threads of a row, and rows at a time

  __device__ std::int64_t num_sums() const { return sums_dy != 0 ? 2 * C : C; }
};

/// Sets each of `values` to its sum over the threads of a row, which are whole warps from `first` on.
/// All of these threads get it. The block's shared memory has room for its warps' values, twice.
/// Calls in turn use one half and the other, so that each waits for the block once.
template <int count, class V>
__device__ void sum_over_row(V (&values)[count], int first, int warps, int half) {
  V* const of_warps = reinterpret_cast<V*>(shared_bytes()) + half * count * num_warps();
  for (V& value : values) value = warp_sum(value);
  if (threadIdx.x % warp_size == 0) {
    for (int i = 0; i < count; ++i) of_warps[threadIdx.x / warp_size * count + i] = values[i];
  }
  __syncthreads();
  for (int i = 0; i < count; ++i) values[i] = of_warps[first * count + i];
  for (int warp = first + 1; warp < first + warps; ++warp) {
    for (int i = 0; i < count; ++i) values[i] += of_warps[warp * count + i];
  }
}

/// Computes dx and the sums of a run of rows; each block has one run. Groups of its threads take
/// rows in turn, `vecs` vectors a thread, and sum their columns. Then the groups' sums are added in
/// their order. With `at_once` rows under way in each group that order is the same.
template <class T, class Count, int vecs, int at_once, bool plus_one>
__global__ void __launch_bounds__(vecs == 1 ? threads_per_block : most_threads_of_row,
                                  vecs > 1                    ? 1
                                  : std::is_same_v<T, double> ? 2
                                                              : 3) backward_of_runs(NormBackward<T> p) {
  using V = Value<T>;
  constexpr int N = vec_size<T>;
  const int of_row = p.of_row, groups = p.groups, group = static_cast<int>(threadIdx.x) / of_row,
            lane = static_cast<int>(threadIdx.x) - group * of_row;
  const std::int64_t run = blockIdx.x, begin = run * p.rows;
  const int rows = static_cast<int>(begin + p.rows < p.R ? p.rows : p.R - begin);
  const auto inverse = static_cast<V>(p.inverse);
  const auto column = [&](int vec) { return (lane + vec * of_row) * std::int64_t{N}; };
  Elements<T, N> weight[vecs];
  Vec<V, N> dweight[vecs], dbias[vecs];
  for (int j = 0; j < vecs; ++j) {
    weight[j] = {};
    dweight[j] = dbias[j] = {};
    if (column(j) < p.C) weight[j] = load_elements<N>(p.weight + column(j), p.C - column(j));
  }
  int half = 0;
  for (int first = 0; first < rows; first += at_once * groups, half ^= 1) {
    const auto row_of = [&](int i) { return first + i * groups + group; };
    Elements<T, N> dy_of[at_once][vecs], x_of[at_once][vecs], around_of[at_once][vecs];
    V mean[at_once], rstd[at_once], means[2 * at_once];  // means of g and g · x̂
    for (int i = 0; i < at_once; ++i) {
      const std::int64_t r = begin + row_of(i);
      const bool is_there = row_of(i) < rows;
      mean[i] = is_there && p.mean != nullptr ? p.mean[r] : 0;
      rstd[i] = is_there ? p.rstd[r] : 0;
      for (int j = 0; j < vecs; ++j) {
        const std::int64_t c = column(j), at = r * p.C + c;
        const auto left = static_cast<Count>(p.C - c);
        dy_of[i][j] = x_of[i][j] = around_of[i][j] = {};
        if (!is_there || c >= p.C) continue;
        dy_of[i][j] = load_elements<N>(p.dy + at, left);
        x_of[i][j] = load_elements<N>(p.x + at, left);
        if (p.dresidual != nullptr) around_of[i][j] = load_elements<N>(p.dresidual + at, left);
      }
    }
    for (int i = 0; i < at_once; ++i) {
      V sum_g = 0, sum_gx = 0;
      for (int j = 0; j < vecs; ++j) {
        const auto dy = widened<T, N>(dy_of[i][j]), x = widened<T, N>(x_of[i][j]),
                   w = widened<T, N>(weight[j]);
        for (int e = 0; e < N; ++e) {
          const V g = dy.at[e] * factor<plus_one>(w.at[e]), x_hat = (x.at[e] - mean[i]) * rstd[i];
          sum_g += g;
          sum_gx += g * x_hat;
          dweight[j].at[e] += dy.at[e] * x_hat;
          dbias[j].at[e] += dy.at[e];
        }
      }
      means[2 * i] = sum_g;
      means[2 * i + 1] = sum_gx;
    }
    sum_over_row(means, group * of_row / warp_size, of_row / warp_size, half);
    for (int i = 0; i < at_once; ++i) {
      if (row_of(i) >= rows) continue;
      // These come from the cache once more, as registers are few.
      const std::int64_t r = begin + row_of(i);
      const V mean_again = p.mean != nullptr ? p.mean[r] : 0, rstd_again = p.rstd[r],
              mean_g = p.mean != nullptr ? means[2 * i] * inverse : 0, mean_gx = means[2 * i + 1] * inverse;
      for (int j = 0; j < vecs; ++j) {
        const std::int64_t c = column(j);
        if (c >= p.C) continue;
        hide_from_optimizer(dy_of[i][j]);
        hide_from_optimizer(x_of[i][j]);
        hide_from_optimizer(weight[j]);
        const auto dy = widened<T, N>(dy_of[i][j]), x = widened<T, N>(x_of[i][j]),
                   w = widened<T, N>(weight[j]);
        auto dx = widened<T, N>(around_of[i][j]);
        for (int e = 0; e < N; ++e) {
          const V x_hat = (x.at[e] - mean_again) * rstd_again;
          dx.at[e] += rstd_again * (dy.at[e] * factor<plus_one>(w.at[e]) - mean_g - x_hat * mean_gx);
        }
        store_vec<N>(p.dx + r * p.C + c, static_cast<Count>(p.C - c), dx);
      }
    }
  }
  V* const of_run = p.sums + run * p.num_sums();
  if (groups == 1) {
    for (int j = 0; j < vecs; ++j) {
      const std::int64_t c = column(j);
      if (c >= p.C) continue;
      store_vec<N>(of_run + c, p.C - c, dweight[j]);
      if (p.sums_dy != 0) store_vec<N>(of_run + p.C + c, p.C - c, dbias[j]);
    }
    return;
  }
  __syncthreads();
  const int width = of_row * N, of_group = 2 * width;  // with groups a thread has one vector
  V* const of_groups = reinterpret_cast<V*>(shared_bytes());
  store_vec<N>(of_groups + group * of_group + column(0), FullVec(), dweight[0]);
  store_vec<N>(of_groups + group * of_group + width + column(0), FullVec(), dbias[0]);
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < p.num_sums(); i += blockDim.x) {
    const V* const own = of_groups + (i < p.C ? i : width + i - p.C);
    V sum = *own;
    for (int g = 1; g < groups; ++g) sum += own[g * of_group];
    of_run[i] = sum;
  }
}

/// Does the same for rows that are longer than a block's threads have vectors, with their sums in
/// memory. A row comes from the cache the second time.
template <class T, bool plus_one>
__global__ void backward_of_long_rows(NormBackward<T> p) {
  using V = Value<T>;
  using Row = OfBlock<0>;
  constexpr int N = vec_size<T>;
  const std::int64_t run = blockIdx.x, begin = run * p.rows;
  const std::int64_t end = begin + p.rows < p.R ? begin + p.rows : p.R;
  V* const sums = p.sums + run * p.num_sums();
  for (std::int64_t i = threadIdx.x; i < p.num_sums(); i += blockDim.x) sums[i] = 0;
  __syncthreads();
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t at = r * p.C;
    const V mean = p.mean != nullptr ? p.mean[r] : 0, rstd = p.rstd[r];
    V mean_g = 0, mean_gx = 0;
    for_columns<N, Row>(p.C, [&](int, std::int64_t c, std::int64_t left) {
      const auto dy = load_vec<N>(p.dy + at + c, left), x = load_vec<N>(p.x + at + c, left),
                 weight = load_vec<N>(p.weight + c, left);
      for (int e = 0; e < N; ++e) {
        const V g = dy.at[e] * factor<plus_one>(weight.at[e]);
        mean_g += g;
        mean_gx += g * (x.at[e] - mean) * rstd;
      }
    });
    mean_g = p.mean != nullptr ? Row::sum(mean_g) / static_cast<V>(p.C) : 0;
    mean_gx = Row::sum(mean_gx) / static_cast<V>(p.C);
    for_columns<N, Row>(p.C, [&](int, std::int64_t c, std::int64_t left) {
      const auto dy = load_vec<N>(p.dy + at + c, left), x = load_vec<N>(p.x + at + c, left),
                 weight = load_vec<N>(p.weight + c, left);
      Vec<V, N> dx{};
      if (p.dresidual != nullptr) dx = load_vec<N>(p.dresidual + at + c, left);
      auto dweight = load_vec<N>(sums + c, left);
      for (int e = 0; e < N; ++e) {
        const V x_hat = (x.at[e] - mean) * rstd;
        dx.at[e] += rstd * (dy.at[e] * factor<plus_one>(weight.at[e]) - mean_g - x_hat * mean_gx);
        dweight.at[e] += dy.at[e] * x_hat;
      }
      store_vec<N>(p.dx + at + c, left, dx);
      store_vec<N>(sums + c, left, dweight);
      if (p.sums_dy == 0) return;
      auto dbias = load_vec<N>(sums + p.C + c, left);
      for (int e = 0; e < N; ++e) dbias.at[e] += dy.at[e];
      store_vec<N>(sums + p.C + c, left, dbias);
    });
  }
}

/// Returns the kernel for rows, which are whole vectors or not.
template <class T, bool plus_one>
auto backward_kernel(const NormBackwardRows& rows, bool are_whole) {
  if (rows.vecs == 1)
    return are_whole ? backward_of_runs<T, FullVec, 1, 2, plus_one>
                     : backward_of_runs<T, std::int64_t, 1, 1, plus_one>;
  if (rows.vecs == 2)
    return are_whole ? backward_of_runs<T, FullVec, 2, 1, plus_one>
                     : backward_of_runs<T, std::int64_t, 2, 1, plus_one>;
  return backward_of_long_rows<T, plus_one>;
}

/// The tensors of both norms' backward passes. mean_R is absent for RMS norm; dresidual_RC and
/// dbias_C may be.
struct BackwardTensors {
  const Tensor &dy_RC, &x_RC, &weight_C, &mean_R, &rstd_R, &dresidual_RC, &dx_RC, &dweight_C, &dbias_C;
  bool plus_one;
};

void norm_backward(const Context& context, const char* name, const BackwardTensors& t) {
  const std::int64_t R = t.x_RC.dim(0), C = t.x_RC.dim(1);
  if (R == 0) return;
  with_elements(t.x_RC.dtype(), [&](auto element) {
    using T = decltype(element);
    using V = Value<T>;
    const Arena::Scope scope(context.scratch());
    const NormBackwardRows rows = norm_backward_rows(vec_size<T>, R, C, sizeof(V));
    const Tensor sums_NC =
        context.scratch().allocate(dtype_of<V>(), {rows.runs.count, t.dbias_C ? 2 * C : C});
    const NormBackward<T> p{.dy = t.dy_RC.data<T>(),
                            .x = t.x_RC.data<T>(),
                            .weight = t.weight_C.data<T>(),
                            .mean = elements<V>(t.mean_R),
                            .rstd = t.rstd_R.data<V>(),
                            .dresidual = elements<T>(t.dresidual_RC),
                            .dx = t.dx_RC.data<T>(),
                            .R = R,
                            .C = C,
                            .rows = rows.runs.rows,
                            .inverse = 1 / static_cast<double>(C),
                            .sums = sums_NC.data<V>(),
                            .sums_dy = t.dbias_C ? 1 : 0,
                            .of_row = static_cast<std::int32_t>(rows.of_row),
                            .groups = static_cast<std::int32_t>(rows.groups)};
    const bool is_whole = can_vectorize<T>(C, {p.dy, p.x, p.dresidual, p.dx});
    const auto kernel =
        t.plus_one ? backward_kernel<T, true>(rows, is_whole) : backward_kernel<T, false>(rows, is_whole);
    launch(context, name, grid_for_norm_backward(rows), kernel, p);
    add_sums_of_runs(context, name, sums_NC, t.dweight_C, t.dbias_C);
  });
}

}  // namespace

void layer_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                         const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                         const Tensor& dresidual_RC, const Tensor& dx_RC, const Tensor& dweight_C,
                         const Tensor& dbias_C, bool plus_one) {
  norm_backward(context, "layer_norm_backward",
                {dy_RC, x_RC, weight_C, mean_R, rstd_R, dresidual_RC, dx_RC, dweight_C, dbias_C, plus_one});
}

void rms_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                       const Tensor& weight_C, const Tensor& rstd_R, const Tensor& dresidual_RC,
                       const Tensor& dx_RC, const Tensor& dweight_C, bool plus_one) {
  const Tensor absent;
  norm_backward(context, "rms_norm_backward",
                {dy_RC, x_RC, weight_C, absent, rstd_R, dresidual_RC, dx_RC, dweight_C, absent, plus_one});
}

}  // namespace dt::kernels::cuda
