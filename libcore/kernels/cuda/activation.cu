#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"

namespace dt::kernels::cuda {

namespace {

constexpr double cubic = 0.044715, twice_scale = 1.5957691216057308;  // 2√(2/π)

/// Returns the sigmoid of x, to the precision of T's elements.
template <class T, class V = Value<T>>
__device__ V sigmoid(V x) {
  return reciprocal_for<T>(1 + exp_for<T>(-x));
}

/// Returns ½(1 + tanh(u)) = sigmoid(2u).
template <class T, class V = Value<T>>
__device__ V gelu_gate(V x) {
  return sigmoid<T>(x * (V(twice_scale) + V(twice_scale * cubic) * x * x));
}

// An activation has its value and its slope at x, to the precision of T's elements.

struct Gelu {
  template <class T, class V>
  __device__ static V value(V x) {
    return x * gelu_gate<T>(x);
  }
  /// gelu' = s + x · 2u' · s(1 − s), with s = sigmoid(2u). Beyond ±9 it is 0 or 1, and u' would overflow. A
  /// NaN stays a NaN.
  template <class T, class V>
  __device__ static V slope(V x) {
    constexpr V bound = 9;
    x = x > bound ? bound : x < -bound ? -bound : x;
    const V s = gelu_gate<T>(x);
    return s + x * (V(twice_scale) + V(3 * twice_scale * cubic) * x * x) * (s - s * s);
  }
};

struct GeluErf {
  template <class T, class V>
  __device__ static V value(V x) {
    return x * (V(0.5) * erfc(x * V(-0.7071067811865476)));
  }
  template <class T, class V>
  __device__ static V slope(V x) {
    constexpr V bound = 40;  // beyond, the density is 0 and its square would overflow
    x = x > bound ? bound : x < -bound ? -bound : x;
    return V(0.5) * erfc(x * V(-0.7071067811865476)) +
           x * V(0.3989422804014327) * exp_for<T>(V(-0.5) * x * x);
  }
};

struct Silu {
  template <class T, class V>
  __device__ static V value(V x) {
    return x * sigmoid<T>(x);
  }
  template <class T, class V>
  __device__ static V slope(V x) {
    const V s = sigmoid<T>(x);
    return s + x * (s - s * s);
  }
};

struct Relu2 {
  template <class T, class V>
  __device__ static V value(V x) {
    return x < 0 ? V(0) : x * x;
  }
  template <class T, class V>
  __device__ static V slope(V x) {
    return x < 0 ? V(0) : x + x;
  }
};

template <class F, class T>
__global__ void activation_elements(const T* x, T* y, std::int64_t count) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    auto values = load_vec<N>(x + i, left);
    for (auto& value : values.at) value = F::template value<T>(value);
    store_vec<N>(y + i, left, values);
  });
}

template <class F, class T>
__global__ void activation_backward_elements(const T* dy, const T* x, T* dx, std::int64_t count) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    const auto values = load_vec<N>(x + i, left);
    auto gradients = load_vec<N>(dy + i, left);
    for (int e = 0; e < N; ++e) gradients.at[e] *= F::template slope<T>(values.at[e]);
    store_vec<N>(dx + i, left, gradients);
  });
}

template <class F, class T>
__global__ void gated_activation_rows(const T* gate_up, T* y, std::int64_t R, std::int64_t width) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(R, width, [&](std::int64_t r, std::int64_t f, std::int64_t left) {
    const T* const row = gate_up + r * 2 * width + f;
    const auto gate = load_vec<N>(row, left);
    auto up = load_vec<N>(row + width, left);
    for (int e = 0; e < N; ++e) up.at[e] *= F::template value<T>(gate.at[e]);
    store_vec<N>(y + r * width + f, left, up);
  });
}

template <class F, class T>
__global__ void gated_activation_backward_rows(const T* dy, const T* gate_up, T* dgate_up, std::int64_t R,
                                               std::int64_t width) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(R, width, [&](std::int64_t r, std::int64_t f, std::int64_t left) {
    const std::int64_t at = r * 2 * width + f;
    const auto gradient = load_vec<N>(dy + r * width + f, left);
    auto gate = load_vec<N>(gate_up + at, left), up = load_vec<N>(gate_up + at + width, left);
    for (int e = 0; e < N; ++e) {
      const Value<T> g = gate.at[e];
      gate.at[e] = gradient.at[e] * up.at[e] * F::template slope<T>(g);
      up.at[e] = gradient.at[e] * F::template value<T>(g);
    }
    store_vec<N>(dgate_up + at, left, gate);
    store_vec<N>(dgate_up + at + width, left, up);
  });
}

/// Call body(F(), element) with the activation and the element type.
template <class Body>
void with_plain(Activation f, DType dtype, const Body& body) {
  with_elements(dtype, [&](auto element) {
    if (f == Activation::gelu) return body(Gelu(), element);
    if (f == Activation::gelu_erf) return body(GeluErf(), element);
    body(Relu2(), element);
  });
}
template <class Body>
void with_gating(Activation f, DType dtype, const Body& body) {
  with_elements(dtype, [&](auto element) {
    if (f == Activation::gelu) return body(Gelu(), element);
    body(Silu(), element);
  });
}

}  // namespace

void activation(const Context& context, Activation f, const Tensor& x_RF, const Tensor& y_RF) {
  with_plain(f, x_RF.dtype(), [&](auto function, auto element) {
    using T = decltype(element);
    launch(context, "activation", grid_for_vecs(vec_size<T>, x_RF.numel()),
           activation_elements<decltype(function), T>, x_RF.data<T>(), y_RF.data<T>(), x_RF.numel());
  });
}

void activation_backward(const Context& context, Activation f, const Tensor& dy_RF, const Tensor& x_RF,
                         const Tensor& dx_RF) {
  with_plain(f, x_RF.dtype(), [&](auto function, auto element) {
    using T = decltype(element);
    launch(context, "activation_backward", grid_for_vecs(vec_size<T>, x_RF.numel()),
           activation_backward_elements<decltype(function), T>, dy_RF.data<T>(), x_RF.data<T>(),
           dx_RF.data<T>(), x_RF.numel());
  });
}

void gated_activation(const Context& context, Activation f, const Tensor& gate_up_RG, const Tensor& y_RF) {
  const std::int64_t R = y_RF.dim(0), F = y_RF.dim(1);
  with_gating(f, y_RF.dtype(), [&](auto function, auto element) {
    using T = decltype(element);
    launch(context, "gated_activation", grid_for_vecs(vec_size<T>, R, F),
           gated_activation_rows<decltype(function), T>, gate_up_RG.data<T>(), y_RF.data<T>(), R, F);
  });
}

void gated_activation_backward(const Context& context, Activation f, const Tensor& dy_RF,
                               const Tensor& gate_up_RG, const Tensor& dgate_up_RG) {
  const std::int64_t R = dy_RF.dim(0), F = dy_RF.dim(1);
  with_gating(f, dy_RF.dtype(), [&](auto function, auto element) {
    using T = decltype(element);
    launch(context, "gated_activation_backward", grid_for_vecs(vec_size<T>, R, F),
           gated_activation_backward_rows<decltype(function), T>, dy_RF.data<T>(), gate_up_RG.data<T>(),
           dgate_up_RG.data<T>(), R, F);
  });
}

}  // namespace dt::kernels::cuda
