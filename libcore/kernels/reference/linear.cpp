#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {

template <class T>
void linear(const Context&, const Tensor& x_RK, const Tensor& w_NK, const Tensor& bias_N,
            const Tensor& residual_RN, const Tensor& y_RN) {
  const std::int64_t R = x_RK.dim(0), K = x_RK.dim(1), N = w_NK.dim(0);
  const T* x = x_RK.data<T>();
  const T* w = w_NK.data<T>();
  const T* bias = bias_N ? bias_N.data<T>() : nullptr;
  const T* residual = residual_RN ? residual_RN.data<T>() : nullptr;
  T* y = y_RN.data<T>();
  for (std::int64_t r = 0; r < R; ++r) {
    for (std::int64_t n = 0; n < N; ++n) {
      double sum = bias ? bias[n] : 0;
      for (std::int64_t k = 0; k < K; ++k) sum += double{x[r * K + k]} * double{w[n * K + k]};
      y[r * N + n] = static_cast<T>(sum + (residual ? residual[r * N + n] : 0));
    }
  }
}

template <class T>
void linear_backward_input(const Context&, const Tensor& dy_RN, const Tensor& w_NK, const Tensor& dx_RK) {
  const std::int64_t R = dy_RN.dim(0), N = dy_RN.dim(1), K = w_NK.dim(1);
  const T* dy = dy_RN.data<T>();
  const T* w = w_NK.data<T>();
  T* dx = dx_RK.data<T>();
  for (std::int64_t r = 0; r < R; ++r) {
    for (std::int64_t k = 0; k < K; ++k) {
      double sum = 0;
      for (std::int64_t n = 0; n < N; ++n) sum += double{dy[r * N + n]} * double{w[n * K + k]};
      dx[r * K + k] = static_cast<T>(sum);
    }
  }
}

template <class T>
void linear_backward_weight(const Context& context, const Tensor& dy_RN, const Tensor& x_RK,
                            const Tensor& dw_NK, const Tensor& dbias_N) {
  const std::int64_t R = dy_RN.dim(0), N = dy_RN.dim(1), K = x_RK.dim(1);
  const T* dy = dy_RN.data<T>();
  const T* x = x_RK.data<T>();
  T* dw = dw_NK.data<T>();
  for (std::int64_t n = 0; n < N; ++n) {
    for (std::int64_t k = 0; k < K; ++k) {
      double sum = 0;
      for (std::int64_t r = 0; r < R; ++r) sum += double{dy[r * N + n]} * double{x[r * K + k]};
      dw[n * K + k] += static_cast<T>(sum);
    }
  }
  if (dbias_N) bias_backward<T>(context, dy_RN, dbias_N);
}

template <class T>
void bias_backward(const Context&, const Tensor& dy_RN, const Tensor& dbias_N) {
  const std::int64_t R = dy_RN.dim(0), N = dy_RN.dim(1);
  for (std::int64_t n = 0; n < N; ++n) {
    double sum = 0;
    for (std::int64_t r = 0; r < R; ++r) sum += dy_RN.data<T>()[r * N + n];
    dbias_N.data<T>()[n] += static_cast<T>(sum);
  }
}

template decltype(kernels::linear) linear<float>;
template decltype(kernels::linear) linear<double>;
template decltype(kernels::linear_backward_input) linear_backward_input<float>;
template decltype(kernels::linear_backward_input) linear_backward_input<double>;
template decltype(kernels::linear_backward_weight) linear_backward_weight<float>;
template decltype(kernels::linear_backward_weight) linear_backward_weight<double>;
template decltype(kernels::bias_backward) bias_backward<float>;
template decltype(kernels::bias_backward) bias_backward<double>;

}  // namespace dt::kernels::reference
