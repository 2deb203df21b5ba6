#include <cmath>

#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {

namespace {

/// Returns what a feature is multiplied by.
template <class T>
double factor(const T* weight, std::int64_t c, bool plus_one) {
  return plus_one ? 1 + double{weight[c]} : double{weight[c]};
}

}  // namespace

template <class T>
void layer_norm(const Context&, const Tensor& x_RC, const Tensor& weight_C, const Tensor& bias_C, double eps,
                const Tensor& y_RC, const Tensor& mean_R, const Tensor& rstd_R, bool plus_one) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const T* weight = weight_C.data<T>();
  const T* bias = bias_C ? bias_C.data<T>() : nullptr;
  for (std::int64_t r = 0; r < R; ++r) {
    const T* x = x_RC.data<T>() + r * C;
    T* y = y_RC.data<T>() + r * C;
    double mean = 0;
    for (std::int64_t c = 0; c < C; ++c) mean += x[c];
    mean /= static_cast<double>(C);
    double variance = 0;
    for (std::int64_t c = 0; c < C; ++c) variance += (x[c] - mean) * (x[c] - mean);
    variance /= static_cast<double>(C);
    const double rstd = 1 / std::sqrt(variance + eps);
    for (std::int64_t c = 0; c < C; ++c) {
      y[c] = static_cast<T>((x[c] - mean) * rstd * factor(weight, c, plus_one) + (bias ? bias[c] : 0));
    }
    mean_R.data<T>()[r] = static_cast<T>(mean);
    rstd_R.data<T>()[r] = static_cast<T>(rstd);
  }
}

namespace {

// With x̂ = (x − mean) · rstd and g = dy · weight: dx = rstd · (g − mean(g) − x̂ · mean(g · x̂)).
template <class T>
void layer_norm_backward_input(const Tensor& dy_RC, const Tensor& x_RC, const Tensor& weight_C,
                               const Tensor& mean_R, const Tensor& rstd_R, const Tensor& dresidual_RC,
                               const Tensor& dx_RC, bool plus_one) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const T* weight = weight_C.data<T>();
  for (std::int64_t r = 0; r < R; ++r) {
    const T* x = x_RC.data<T>() + r * C;
    const T* dy = dy_RC.data<T>() + r * C;
    const T* dresidual = dresidual_RC ? dresidual_RC.data<T>() + r * C : nullptr;
    T* dx = dx_RC.data<T>() + r * C;
    const double mean = mean_R.data<T>()[r], rstd = rstd_R.data<T>()[r];
    double mean_g = 0, mean_gx = 0;
    for (std::int64_t c = 0; c < C; ++c) {
      const double g = double{dy[c]} * factor(weight, c, plus_one);
      mean_g += g;
      mean_gx += g * (x[c] - mean) * rstd;
    }
    mean_g /= static_cast<double>(C);
    mean_gx /= static_cast<double>(C);
    for (std::int64_t c = 0; c < C; ++c) {
      const double g = double{dy[c]} * factor(weight, c, plus_one);
      const double gradient = rstd * (g - mean_g - (x[c] - mean) * rstd * mean_gx);
      dx[c] = static_cast<T>(gradient + (dresidual ? dresidual[c] : 0));
    }
  }
}

template <class T>
void layer_norm_backward_weight(const Tensor& dy_RC, const Tensor& x_RC, const Tensor& mean_R,
                                const Tensor& rstd_R, const Tensor& dweight_C, const Tensor& dbias_C) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const T* x = x_RC.data<T>();
  const T* dy = dy_RC.data<T>();
  const T* mean = mean_R.data<T>();
  const T* rstd = rstd_R.data<T>();
  for (std::int64_t c = 0; c < C; ++c) {
    double dweight = 0, dbias = 0;
    for (std::int64_t r = 0; r < R; ++r) {
      dweight += dy[r * C + c] * (double{x[r * C + c]} - mean[r]) * rstd[r];
      dbias += dy[r * C + c];
    }
    dweight_C.data<T>()[c] += static_cast<T>(dweight);
    if (dbias_C) dbias_C.data<T>()[c] += static_cast<T>(dbias);
  }
}

// With x̂ = x · rstd and g = dy · weight: dx = rstd · (g − x̂ · mean(g · x̂)).
template <class T>
void rms_norm_backward_input(const Tensor& dy_RC, const Tensor& x_RC, const Tensor& weight_C,
                             const Tensor& rstd_R, const Tensor& dresidual_RC, const Tensor& dx_RC,
                             bool plus_one) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const T* weight = weight_C.data<T>();
  for (std::int64_t r = 0; r < R; ++r) {
    const T* x = x_RC.data<T>() + r * C;
    const T* dy = dy_RC.data<T>() + r * C;
    const T* dresidual = dresidual_RC ? dresidual_RC.data<T>() + r * C : nullptr;
    T* dx = dx_RC.data<T>() + r * C;
    const double rstd = rstd_R.data<T>()[r];
    double mean_gx = 0;
    for (std::int64_t c = 0; c < C; ++c) mean_gx += double{dy[c]} * factor(weight, c, plus_one) * x[c] * rstd;
    mean_gx /= static_cast<double>(C);
    for (std::int64_t c = 0; c < C; ++c) {
      const double gradient = rstd * (double{dy[c]} * factor(weight, c, plus_one) - x[c] * rstd * mean_gx);
      dx[c] = static_cast<T>(gradient + (dresidual ? dresidual[c] : 0));
    }
  }
}

template <class T>
void rms_norm_backward_weight(const Tensor& dy_RC, const Tensor& x_RC, const Tensor& rstd_R,
                              const Tensor& dweight_C) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const T* x = x_RC.data<T>();
  const T* dy = dy_RC.data<T>();
  const T* rstd = rstd_R.data<T>();
  for (std::int64_t c = 0; c < C; ++c) {
    double dweight = 0;
    for (std::int64_t r = 0; r < R; ++r) dweight += double{dy[r * C + c]} * double{x[r * C + c]} * rstd[r];
    dweight_C.data<T>()[c] += static_cast<T>(dweight);
  }
}

}  // namespace

// Sums over rows come first, since dx may alias dy or x.
template <class T>
void layer_norm_backward(const Context&, const Tensor& dy_RC, const Tensor& x_RC, const Tensor& weight_C,
                         const Tensor& mean_R, const Tensor& rstd_R, const Tensor& dresidual_RC,
                         const Tensor& dx_RC, const Tensor& dweight_C, const Tensor& dbias_C, bool plus_one) {
  layer_norm_backward_weight<T>(dy_RC, x_RC, mean_R, rstd_R, dweight_C, dbias_C);
  layer_norm_backward_input<T>(dy_RC, x_RC, weight_C, mean_R, rstd_R, dresidual_RC, dx_RC, plus_one);
}

template <class T>
void rms_norm(const Context&, const Tensor& x_RC, const Tensor& weight_C, double eps, const Tensor& y_RC,
              const Tensor& rstd_R, bool plus_one) {
  const std::int64_t R = x_RC.dim(0), C = x_RC.dim(1);
  const T* weight = weight_C.data<T>();
  for (std::int64_t r = 0; r < R; ++r) {
    const T* x = x_RC.data<T>() + r * C;
    T* y = y_RC.data<T>() + r * C;
    double mean_square = 0;
    for (std::int64_t c = 0; c < C; ++c) mean_square += double{x[c]} * double{x[c]};
    mean_square /= static_cast<double>(C);
    const double rstd = 1 / std::sqrt(mean_square + eps);
    for (std::int64_t c = 0; c < C; ++c) y[c] = static_cast<T>(x[c] * rstd * factor(weight, c, plus_one));
    rstd_R.data<T>()[r] = static_cast<T>(rstd);
  }
}

template <class T>
void rms_norm_backward(const Context&, const Tensor& dy_RC, const Tensor& x_RC, const Tensor& weight_C,
                       const Tensor& rstd_R, const Tensor& dresidual_RC, const Tensor& dx_RC,
                       const Tensor& dweight_C, bool plus_one) {
  rms_norm_backward_weight<T>(dy_RC, x_RC, rstd_R, dweight_C);
  rms_norm_backward_input<T>(dy_RC, x_RC, weight_C, rstd_R, dresidual_RC, dx_RC, plus_one);
}

template decltype(kernels::layer_norm) layer_norm<float>;
template decltype(kernels::layer_norm) layer_norm<double>;
template decltype(kernels::layer_norm_backward) layer_norm_backward<float>;
template decltype(kernels::layer_norm_backward) layer_norm_backward<double>;
template decltype(kernels::rms_norm) rms_norm<float>;
template decltype(kernels::rms_norm) rms_norm<double>;
template decltype(kernels::rms_norm_backward) rms_norm_backward<float>;
template decltype(kernels::rms_norm_backward) rms_norm_backward<double>;

}  // namespace dt::kernels::reference
