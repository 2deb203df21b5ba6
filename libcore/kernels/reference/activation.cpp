#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {
namespace {

constexpr double gelu_cubic = 0.044715;
const double gelu_scale = std::sqrt(2 / std::numbers::pi);

// An activation has its value at x, and the gradient with respect to x.

struct Gelu {
  static double value(double x) {
    return 0.5 * x * (1 + std::tanh(gelu_scale * (x + gelu_cubic * x * x * x)));
  }
  static double backward(double dy, double x) {
    const double t = std::tanh(gelu_scale * (x + gelu_cubic * x * x * x));
    const double slope = gelu_scale * (1 + 3 * gelu_cubic * x * x);
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope);
  }
};

struct GeluErf {
  static double cumulative(double x) { return 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2); }
  static double value(double x) { return x * cumulative(x); }
  static double backward(double dy, double x) {
    const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    return dy * (cumulative(x) + x * density);
  }
};

struct Silu {
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  static double value(double x) { return x * sigmoid(x); }
  static double backward(double dy, double x) {
    const double s = sigmoid(x);
    return dy * s * (1 + x * (1 - s));
  }
};

struct Relu2 {
  static double value(double x) { return x < 0 ? 0 : x * x; }  // NaN stays NaN
  static double backward(double dy, double x) { return x < 0 ? 0 : dy * 2 * x; }
};

/// Calls body(F()) with the activation.
template <class Body>
void with_activation(Activation f, const Body& body) {
  switch (f) {
    case Activation::gelu:
      return body(Gelu());
    case Activation::gelu_erf:
      return body(GeluErf());
    case Activation::silu:
      return body(Silu());
    case Activation::relu2:
      return body(Relu2());
  }
}

}  // namespace

template <class T>
void activation(const Context&, Activation f, const Tensor& x_RF, const Tensor& y_RF) {
  const T* x = x_RF.data<T>();
  T* y = y_RF.data<T>();
  with_activation(f, [&](auto function) {
    for (std::int64_t i = 0; i < x_RF.numel(); ++i) y[i] = static_cast<T>(function.value(x[i]));
  });
}

template <class T>
void activation_backward(const Context&, Activation f, const Tensor& dy_RF, const Tensor& x_RF,
                         const Tensor& dx_RF) {
  const T* x = x_RF.data<T>();
  const T* dy = dy_RF.data<T>();
  T* dx = dx_RF.data<T>();
  with_activation(f, [&](auto function) {
    for (std::int64_t i = 0; i < x_RF.numel(); ++i) dx[i] = static_cast<T>(function.backward(dy[i], x[i]));
  });
}

template <class T>
void gated_activation(const Context&, Activation f, const Tensor& gate_up_RG, const Tensor& y_RF) {
  const std::int64_t R = y_RF.dim(0), F = y_RF.dim(1);
  with_activation(f, [&](auto function) {
    for (std::int64_t r = 0; r < R; ++r) {
      const T* gate = gate_up_RG.data<T>() + r * 2 * F;
      const T* up = gate + F;
      T* y = y_RF.data<T>() + r * F;
      for (std::int64_t i = 0; i < F; ++i) y[i] = static_cast<T>(function.value(gate[i]) * up[i]);
    }
  });
}

template <class T>
void gated_activation_backward(const Context&, Activation f, const Tensor& dy_RF, const Tensor& gate_up_RG,
                               const Tensor& dgate_up_RG) {
  const std::int64_t R = dy_RF.dim(0), F = dy_RF.dim(1);
  with_activation(f, [&](auto function) {
    for (std::int64_t r = 0; r < R; ++r) {
      const T* gate_up = gate_up_RG.data<T>() + r * 2 * F;
      const T* dy = dy_RF.data<T>() + r * F;
      T* dgate_up = dgate_up_RG.data<T>() + r * 2 * F;
      for (std::int64_t i = 0; i < F; ++i) {
        const double gate = gate_up[i], up = gate_up[F + i];
        dgate_up[i] = static_cast<T>(function.backward(dy[i] * up, gate));
        dgate_up[F + i] = static_cast<T>(dy[i] * function.value(gate));
      }
    }
  });
}

template decltype(kernels::activation) activation<float>;
template decltype(kernels::activation) activation<double>;
template decltype(kernels::activation_backward) activation_backward<float>;
template decltype(kernels::activation_backward) activation_backward<double>;
template decltype(kernels::gated_activation) gated_activation<float>;
template decltype(kernels::gated_activation) gated_activation<double>;
template decltype(kernels::gated_activation_backward) gated_activation_backward<float>;
template decltype(kernels::gated_activation_backward) gated_activation_backward<double>;

}  // namespace dt::kernels::reference
