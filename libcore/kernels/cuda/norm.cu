#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/sums.cuh"

namespace dt::kernels::cuda {

namespace {

/// A row is a warp's, where a block's threads would have few columns each.
struct OfWarp {
  static constexpr std::int64_t width = warp_size;
  static __device__ std::int64_t row() { return first_element() / warp_size; }
  static __device__ std::int64_t first_column() { return threadIdx.x % warp_size; }
  template <class T>
  static __device__ T sum(T value) {
    return warp_sum(value);
  }
};

struct OfBlock {
  static constexpr std::int64_t width = threads_per_block;
  static __device__ std::int64_t row() { return blockIdx.x; }
  static __device__ std::int64_t first_column() { return threadIdx.x; }
  template <class T>
  static __device__ T sum(T value) {
    return block_sum(value);
  }
};

/// body(whose rows, grid), which has a thread for every column up to their width of every row.
template <class T, class Body>
void with_rows(std::int64_t R, std::int64_t C, const Body& body) {
  constexpr std::int64_t widest_of_warp = 2 * threads_per_block;
  if (C > widest_of_warp) return body(OfBlock(), grid_for_sums<T>(static_cast<unsigned>(R)));
  const std::int64_t blocks = (R + warps_per_block - 1) / warps_per_block;
  body(OfWarp(), Grid{.blocks = static_cast<unsigned>(blocks), .threads = threads_per_block});
}

/// Without mean it is RMS norm; bias may be null, and y be x.
template <class T>
struct Norm {
  const T *x, *weight, *bias;
  T* y;
  Value<T>*mean, *rstd, eps;
  std::int64_t R, C;
};

/// A row is read once from memory; its squares about the mean, which keep their digits far from zero, and
/// what is written come from the cache.
template <class Row, class T>
__global__ void normalise_rows(Norm<T> p) {
  using V = Value<T>;
  const std::int64_t r = Row::row();
  if (r >= p.R) return;
  const T* const x = p.x + r * p.C;
  V mean = 0, variance = 0;
  if (p.mean != nullptr) {
    for (std::int64_t c = Row::first_column(); c < p.C; c += Row::width) mean += load(x + c);
    mean = Row::sum(mean) / static_cast<V>(p.C);
  }
  for (std::int64_t c = Row::first_column(); c < p.C; c += Row::width) {
    const V centred = load(x + c) - mean;
    variance += centred * centred;
  }
  variance = Row::sum(variance) / static_cast<V>(p.C);
  const V rstd = 1 / std::sqrt(variance + p.eps);
  for (std::int64_t c = Row::first_column(); c < p.C; c += Row::width) {
    const V offset = p.bias != nullptr ? load(p.bias + c) : 0;
    p.y[r * p.C + c] = T((load(x + c) - mean) * rstd * load(p.weight + c) + offset);
  }
  if (Row::first_column() != 0) return;
  if (p.mean != nullptr) p.mean[r] = mean;
  p.rstd[r] = rstd;
}

void norm(const Context& context, const char* name, const Tensor& x_RC, const Tensor& weight_C,
          const Tensor& bias_C, double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  if (R == 0) return;
  with_elements(x_RC.dtype(), [&](auto element) {
    using T = decltype(element);
    using V = Value<T>;
    const Norm<T> p{x_RC.data<T>(),
                    weight_C.data<T>(),
                    elements<T>(bias_C),
                    y_RC.data<T>(),
                    elements<V>(mean_R),
                    rstd_R.data<V>(),
                    static_cast<V>(eps),
                    R,
                    C};
    with_rows<V>(R, C, [&](auto row, const Grid& grid) {
      launch(context, name, grid, normalise_rows<decltype(row), T>, p);
    });
  });
}

/// Without mean it is RMS norm; dresidual may be null, and dx be dresidual, dy or x.
template <class T>
struct NormBackward {
  const T *dy, *x, *weight;
  const Value<T>*mean, *rstd;
  const T* dresidual;
  T* dx;
  std::int64_t R, C;
};

// With x̂ = (x − mean) · rstd and g = dy · weight: dx = rstd · (g − mean(g) − x̂ · mean(g · x̂)), of RMS norm
// without mean(g).
template <class Row, class T>
__global__ void write_input_gradient(NormBackward<T> p) {
  using V = Value<T>;
  const std::int64_t r = Row::row();
  if (r >= p.R) return;
  const std::int64_t begin = r * p.C;
  const V mean = p.mean != nullptr ? p.mean[r] : 0, rstd = p.rstd[r];
  V mean_g = 0, mean_gx = 0;
  for (std::int64_t c = Row::first_column(); c < p.C; c += Row::width) {
    const V g = load(p.dy + begin + c) * load(p.weight + c);
    mean_g += g;
    mean_gx += g * (load(p.x + begin + c) - mean) * rstd;
  }
  mean_g = p.mean != nullptr ? Row::sum(mean_g) / static_cast<V>(p.C) : 0;
  mean_gx = Row::sum(mean_gx) / static_cast<V>(p.C);
  for (std::int64_t c = Row::first_column(); c < p.C; c += Row::width) {
    const V g = load(p.dy + begin + c) * load(p.weight + c);
    const V x_hat = (load(p.x + begin + c) - mean) * rstd;
    const V around = p.dresidual != nullptr ? load(p.dresidual + begin + c) : 0;
    p.dx[begin + c] = T(rstd * (g - mean_g - x_hat * mean_gx) + around);
  }
}

/// Of each run of rows, Σ dy · x̂ and, where dbias is not null, Σ dy.
template <class T>
__global__ void sum_runs(NormBackward<T> p, std::int64_t rows, Value<T>* dweight, Value<T>* dbias) {
  using V = Value<T>;
  const std::int64_t c = own_column(), run = blockIdx.y, begin = run * rows;
  const std::int64_t end = begin + rows < p.R ? begin + rows : p.R;
  V sum_weight = 0, sum_bias = 0;
  if (c < p.C) {
    for (std::int64_t r = begin + own_row(); r < end; r += warps_per_block) {
      const V dy = load(p.dy + r * p.C + c), mean = p.mean != nullptr ? p.mean[r] : 0;
      sum_weight += dy * (load(p.x + r * p.C + c) - mean) * p.rstd[r];
      sum_bias += dy;
    }
  }
  sum_weight = sum_over_warps(sum_weight);
  if (dbias != nullptr) sum_bias = sum_over_warps(sum_bias);
  if (own_row() != 0 || c >= p.C) return;
  dweight[run * p.C + c] = sum_weight;
  if (dbias != nullptr) dbias[run * p.C + c] = sum_bias;
}

/// What both norms' backwards are given. mean_R is absent for RMS norm; dresidual_RC and dbias_C may be.
struct BackwardTensors {
  const Tensor &dy_RC, &x_RC, &weight_C, &mean_R, &rstd_R, &dresidual_RC, &dx_RC, &dweight_C, &dbias_C;
};

template <class T>
void sum_weight_gradients(const Context& context, const char* name, const BackwardTensors& t,
                          const NormBackward<T>& p) {
  using V = Value<T>;
  const Arena::Scope scope(context.scratch());
  const Runs runs = runs_of(p.R);
  const auto sums = [&](const Tensor& gradient_C) {
    return gradient_C ? context.scratch().allocate(dtype_of<V>(), {runs.count, p.C}) : Tensor();
  };
  const Tensor dweight_NC = sums(t.dweight_C), dbias_NC = sums(t.dbias_C);
  launch(context, name, grid_for_columns<V>(p.C, runs.count), sum_runs<T>, p, runs.rows, dweight_NC.data<V>(),
         elements<V>(dbias_NC));
  add_sums_of_runs(context, name, dweight_NC, t.dweight_C);
  add_sums_of_runs(context, name, dbias_NC, t.dbias_C);
}

/// The sums over rows first: dx may lie over dy or x.
void norm_backward(const Context& context, const char* name, const BackwardTensors& t) {
  const std::int64_t R = t.x_RC.dim(0), C = t.x_RC.dim(1);
  if (R == 0) return;
  with_elements(t.x_RC.dtype(), [&](auto element) {
    using T = decltype(element);
    using V = Value<T>;
    const NormBackward<T> p{t.dy_RC.data<T>(),
                            t.x_RC.data<T>(),
                            t.weight_C.data<T>(),
                            elements<V>(t.mean_R),
                            t.rstd_R.data<V>(),
                            elements<T>(t.dresidual_RC),
                            t.dx_RC.data<T>(),
                            R,
                            C};
    sum_weight_gradients(context, name, t, p);
    with_rows<V>(R, C, [&](auto row, const Grid& grid) {
      launch(context, name, grid, write_input_gradient<decltype(row), T>, p);
    });
  });
}

}  // namespace

void layer_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
                double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R) {
  norm(context, "layer_norm", x_RC, weight_C, bias_C, eps, y_RC, mean_R, rstd_R);
}

void layer_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                         const Tensor& weight_C, const Tensor& mean_R, const Tensor& rstd_R,
                         const Tensor& dresidual_RC, const Tensor& dx_RC, const Tensor& dweight_C,
                         const Tensor& dbias_C) {
  norm_backward(context, "layer_norm_backward",
                {dy_RC, x_RC, weight_C, mean_R, rstd_R, dresidual_RC, dx_RC, dweight_C, dbias_C});
}

void rms_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, double eps,
              const Tensor& y_RC, const Tensor& rstd_R) {
  norm(context, "rms_norm", x_RC, weight_C, Tensor(), eps, y_RC, Tensor(), rstd_R);
}

void rms_norm_backward(const Context& context, const Tensor& dy_RC, const Tensor& x_RC,
                       const Tensor& weight_C, const Tensor& rstd_R, const Tensor& dresidual_RC,
                       const Tensor& dx_RC, const Tensor& dweight_C) {
  const Tensor absent;
  norm_backward(context, "rms_norm_backward",
                {dy_RC, x_RC, weight_C, absent, rstd_R, dresidual_RC, dx_RC, dweight_C, absent});
}

}  // namespace dt::kernels::cuda
