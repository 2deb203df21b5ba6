#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/norm_rows.cuh"

namespace dt::kernels::cuda {

namespace {

/// A norm; without mean it is RMS norm. `bias` may be null, and `y` may be `x`.
template <class T>
struct Norm {
  const T *x, *weight, *bias;
  T* y;
  Value<T>*mean, *rstd;
  std::int64_t R, C;
  double eps;
};

/// Normalizes rows. A row is read once from memory. Its squares are about the mean, so that they
/// keep their digits far from zero.
template <class Row, class T, bool plus_one>
__global__ void normalise_rows(Norm<T> p) {
  using V = Value<T>;
  constexpr int N = vec_size<T>;
  const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * Row::rows() + Row::row();
  if (r >= p.R) return;
  const RowVecs<Row, T> x(p.x + r * p.C, p.C);
  V mean = 0, variance = 0;
  if (p.mean != nullptr) {
    for_columns<N, Row>(p.C, [&](int vec, std::int64_t c, auto left) {
      for (const V value : x.at(vec, c, left).at) mean += value;
    });
    mean = Row::sum(mean) / static_cast<V>(p.C);
  }
  for_columns<N, Row>(p.C, [&](int vec, std::int64_t c, auto left) {
    auto values = x.at(vec, c, left);
    if (left < N) {
      for (int e = 0; e < N; ++e) values.at[e] = e < left ? values.at[e] : mean;
    }
    for (const V value : values.at) variance += (value - mean) * (value - mean);
  });
  variance = Row::sum(variance) / static_cast<V>(p.C);
  const V rstd = 1 / std::sqrt(variance + static_cast<V>(p.eps));
  for_columns<N, Row>(p.C, [&](int vec, std::int64_t c, auto left) {
    auto values = x.at(vec, c, left);
    const auto weight = load_vec<N>(p.weight + c, left);
    Vec<V, N> offset{};
    if (p.bias != nullptr) offset = load_vec<N>(p.bias + c, left);
    for (int e = 0; e < N; ++e)
      values.at[e] = (values.at[e] - mean) * rstd * factor<plus_one>(weight.at[e]) + offset.at[e];
    store_vec<N>(p.y + r * p.C + c, left, values);
  });
  if (Row::lane() != 0) return;
  if (p.mean != nullptr) p.mean[r] = mean;
  p.rstd[r] = rstd;
}

void norm(const Context& context, const char* name, const Tensor& x_RC, const Tensor& weight_C,
          const Tensor& bias_C, double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R,
          bool plus_one) {
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
                    R,
                    C,
                    eps};
    with_rows<T>(C, can_vectorize<T>(C, {p.x, p.weight, p.bias, p.y}), [&](auto row) {
      using Row = decltype(row);
      launch(context, name, grid_for_norm(vec_size<T>, R, C, sizeof(V)),
             plus_one ? normalise_rows<Row, T, true> : normalise_rows<Row, T, false>, p);
    });
  });
}

}  // namespace

void layer_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C,
                double eps, const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R, bool plus_one) {
  norm(context, "layer_norm", x_RC, weight_C, bias_C, eps, y_RC, mean_R, rstd_R, plus_one);
}

void rms_norm(const Context& context, const Tensor& x_RC, const Tensor& weight_C, double eps,
              const Tensor& y_RC, const Tensor& rstd_R, bool plus_one) {
  norm(context, "rms_norm", x_RC, weight_C, Tensor(), eps, y_RC, Tensor(), rstd_R, plus_one);
}

}  // namespace dt::kernels::cuda
