#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/norm_rows.cuh"

namespace dt::kernels::cuda {

namespace {

/// Without mean it is RMS norm; dresidual may be null, and dx be dresidual, dy or x. Of each run of `rows`
/// rows `sums` gets C sums for dweight, and with `sums_dy` C more for dbias.
template <class T>
struct NormBackward {
  const T *dy, *x, *weight;
  const Value<T>*mean, *rstd;
  const T* dresidual;
  T* dx;
  std::int64_t R, C, rows;
  Value<T>* sums;
  std::int64_t sums_dy;  // whether

  __device__ std::int64_t num_sums() const { return sums_dy != 0 ? 2 * C : C; }
};

/// With x̂ = (x − mean) · rstd and g = dy · weight: dx = rstd · (g − mean(g) − x̂ · mean(g · x̂)), of RMS norm
/// without mean(g). The sums that this thread has get dy · x̂ and dy. The row comes from the cache the second
/// time.
template <class Row, class T>
__device__ void backward_of_row(const NormBackward<T>& p, std::int64_t r, Value<T>* sums) {
  using V = Value<T>;
  constexpr int N = pack_size<T>;
  const std::int64_t begin = r * p.C;
  const V mean = p.mean != nullptr ? p.mean[r] : 0, rstd = p.rstd[r];
  V mean_g = 0, mean_gx = 0;
  for_columns<N, Row>(p.C, [&](int, std::int64_t c, std::int64_t left) {
    const auto dy = load_pack<N>(p.dy + begin + c, left), x = load_pack<N>(p.x + begin + c, left),
               weight = load_pack<N>(p.weight + c, left);
    for (int e = 0; e < N; ++e) {
      const V g = dy.at[e] * weight.at[e];
      mean_g += g;
      mean_gx += g * (x.at[e] - mean) * rstd;
    }
  });
  mean_g = p.mean != nullptr ? Row::sum(mean_g) / static_cast<V>(p.C) : 0;
  mean_gx = Row::sum(mean_gx) / static_cast<V>(p.C);
  for_columns<N, Row>(p.C, [&](int, std::int64_t c, std::int64_t left) {
    const auto dy = load_pack<N>(p.dy + begin + c, left), x = load_pack<N>(p.x + begin + c, left),
               weight = load_pack<N>(p.weight + c, left);
    Pack<V, N> dx{};
    if (p.dresidual != nullptr) dx = load_pack<N>(p.dresidual + begin + c, left);
    auto dweight = load_pack<N>(sums + c, left);
    for (int e = 0; e < N; ++e) {
      const V x_hat = (x.at[e] - mean) * rstd;
      dx.at[e] += rstd * (dy.at[e] * weight.at[e] - mean_g - x_hat * mean_gx);
      dweight.at[e] += dy.at[e] * x_hat;
    }
    store_pack<N>(p.dx + begin + c, left, dx);
    store_pack<N>(sums + c, left, dweight);
    if (p.sums_dy == 0) return;
    auto dbias = load_pack<N>(sums + p.C + c, left);
    for (int e = 0; e < N; ++e) dbias.at[e] += dy.at[e];
    store_pack<N>(sums + p.C + c, left, dbias);
  });
}

/// A block has a run of rows, as many at a time as have sums of their own in shared memory, which are added
/// up in their order; or one, whose sums are the run's. Which memory that is, is known when it is compiled,
/// so that no instruction finds out.
template <class Row, class T, bool in_shared>
__global__ void backward_of_runs(NormBackward<T> p) {
  using V = Value<T>;
  const std::int64_t run = blockIdx.x, begin = run * p.rows, num_sums = p.num_sums();
  const std::int64_t end = begin + p.rows < p.R ? begin + p.rows : p.R;
  V* const of_run = p.sums + run * num_sums;
  if constexpr (in_shared) {
    V* const of_rows = reinterpret_cast<V*>(shared_bytes() + Row::sum_bytes);
    for (std::int64_t i = threadIdx.x; i < num_sums * Row::rows(); i += blockDim.x) of_rows[i] = 0;
    __syncthreads();
    for (std::int64_t r = begin + Row::row(); r < end; r += Row::rows())
      backward_of_row<Row>(p, r, of_rows + Row::row() * num_sums);
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < num_sums; i += blockDim.x) {
      V sum = of_rows[i];
      for (int row = 1; row < Row::rows(); ++row) sum += of_rows[row * num_sums + i];
      of_run[i] = sum;
    }
  } else {
    for (std::int64_t i = threadIdx.x; i < num_sums; i += blockDim.x) of_run[i] = 0;
    __syncthreads();
    for (std::int64_t r = begin; r < end; ++r) backward_of_row<Row>(p, r, of_run);
  }
}

/// What both norms' backwards are given. mean_R is absent for RMS norm; dresidual_RC and dbias_C may be.
struct BackwardTensors {
  const Tensor &dy_RC, &x_RC, &weight_C, &mean_R, &rstd_R, &dresidual_RC, &dx_RC, &dweight_C, &dbias_C;
};

void norm_backward(const Context& context, const char* name, const BackwardTensors& t) {
  const std::int64_t R = t.x_RC.dim(0), C = t.x_RC.dim(1);
  if (R == 0) return;
  with_elements(t.x_RC.dtype(), [&](auto element) {
    using T = decltype(element);
    using V = Value<T>;
    const Arena::Scope scope(context.scratch());
    const Runs runs = runs_of(R);
    const Tensor sums_NC = context.scratch().allocate(dtype_of<V>(), {runs.count, t.dbias_C ? 2 * C : C});
    const NormBackward<T> p{.dy = t.dy_RC.data<T>(),
                            .x = t.x_RC.data<T>(),
                            .weight = t.weight_C.data<T>(),
                            .mean = elements<V>(t.mean_R),
                            .rstd = t.rstd_R.data<V>(),
                            .dresidual = elements<T>(t.dresidual_RC),
                            .dx = t.dx_RC.data<T>(),
                            .R = R,
                            .C = C,
                            .rows = runs.rows,
                            .sums = sums_NC.data<V>(),
                            .sums_dy = t.dbias_C ? 1 : 0};
    const NormBackwardRows rows = norm_backward_rows(pack_size<T>, sums_NC.dim(1), C, sizeof(V));
    const auto kernel = rows.of_row == warp_size ? backward_of_runs<OfWarp<0>, T, true>
                        : rows.in_shared         ? backward_of_runs<OfBlock<0>, T, true>
                                                 : backward_of_runs<OfBlock<0>, T, false>;
    launch(context, name, grid_for_norm_backward(runs.count, rows), kernel, p);
    add_sums_of_runs(context, name, sums_NC, t.dweight_C, t.dbias_C);
  });
}

}  // namespace

void layer_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                         const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                         const Tensor& dresidual_RC, const Tensor& dx_RC, const Tensor& dweight_C,
                         const Tensor& dbias_C) {
  norm_backward(context, "layer_norm_backward",
                {dy_RC, x_RC, weight_C, mean_R, rstd_R, dresidual_RC, dx_RC, dweight_C, dbias_C});
}

void rms_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                       const Tensor& weight_C, const Tensor& rstd_R, const Tensor& dresidual_RC,
                       const Tensor& dx_RC, const Tensor& dweight_C) {
  const Tensor absent;
  norm_backward(context, "rms_norm_backward",
                {dy_RC, x_RC, weight_C, absent, rstd_R, dresidual_RC, dx_RC, dweight_C, absent});
}

}  // namespace dt::kernels::cuda
