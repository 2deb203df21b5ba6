#include <cmath>
#include <numbers>

#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {
namespace {

constexpr double gelu_cubic = 0.044715;
const double gelu_scale = std::sqrt(2 / std::numbers::pi);

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

template <class T>
void gelu(const Context&, const Tensor& x_RF, const Tensor& y_RF) {
  const T* x = x_RF.data<T>();
  T* y = y_RF.data<T>();
  for (std::int64_t i = 0; i < x_RF.numel(); ++i) {
    const double v = x[i];
    const double t = std::tanh(gelu_scale * (v + gelu_cubic * v * v * v));
    y[i] = static_cast<T>(0.5 * v * (1 + t));
  }
}

template <class T>
void gelu_backward(const Context&, const Tensor& dy_RF, const Tensor& x_RF, const Tensor& dx_RF) {
  const T* x = x_RF.data<T>();
  const T* dy = dy_RF.data<T>();
  T* dx = dx_RF.data<T>();
  for (std::int64_t i = 0; i < x_RF.numel(); ++i) {
    const double v = x[i];
    const double t = std::tanh(gelu_scale * (v + gelu_cubic * v * v * v));
    const double slope = gelu_scale * (1 + 3 * gelu_cubic * v * v);
    dx[i] = static_cast<T>(dy[i] * (0.5 * (1 + t) + 0.5 * v * (1 - t * t) * slope));
  }
}

template <class T>
void swiglu(const Context&, const Tensor& gate_up_RG, const Tensor& y_RF) {
  const std::int64_t R = y_RF.dim(0), F = y_RF.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    const T* gate = gate_up_RG.data<T>() + r * 2 * F;
    const T* up = gate + F;
    T* y = y_RF.data<T>() + r * F;
    for (std::int64_t f = 0; f < F; ++f) y[f] = static_cast<T>(gate[f] * sigmoid(gate[f]) * up[f]);
  }
}

template <class T>
void swiglu_backward(const Context&, const Tensor& dy_RF, const Tensor& gate_up_RG,
                     const Tensor& dgate_up_RG) {
  const std::int64_t R = dy_RF.dim(0), F = dy_RF.dim(1);
  for (std::int64_t r = 0; r < R; ++r) {
    const T* gate_up = gate_up_RG.data<T>() + r * 2 * F;
    const T* dy = dy_RF.data<T>() + r * F;
    T* dgate_up = dgate_up_RG.data<T>() + r * 2 * F;
    for (std::int64_t f = 0; f < F; ++f) {
      const double gate = gate_up[f], up = gate_up[F + f];
      const double s = sigmoid(gate);
      dgate_up[f] = static_cast<T>(dy[f] * up * s * (1 + gate * (1 - s)));
      dgate_up[F + f] = static_cast<T>(dy[f] * gate * s);
    }
  }
}

template decltype(kernels::gelu) gelu<float>;
template decltype(kernels::gelu) gelu<double>;
template decltype(kernels::gelu_backward) gelu_backward<float>;
template decltype(kernels::gelu_backward) gelu_backward<double>;
template decltype(kernels::swiglu) swiglu<float>;
template decltype(kernels::swiglu) swiglu<double>;
template decltype(kernels::swiglu_backward) swiglu_backward<float>;
template decltype(kernels::swiglu_backward) swiglu_backward<double>;

}  // namespace dt::kernels::reference
