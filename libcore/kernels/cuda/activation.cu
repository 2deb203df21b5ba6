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

/// Returns gelu' = s + x · 2u' · s(1 − s), with s = sigmoid(2u). Beyond ±9 it is 0 or 1, and u' would
/// overflow. A NaN stays a NaN.
template <class T, class V = Value<T>>
__device__ V gelu_slope(V x) {
  constexpr V bound = 9;
  x = x > bound ? bound : x < -bound ? -bound : x;
  const V s = gelu_gate<T>(x);
  return s + x * (V(twice_scale) + V(3 * twice_scale * cubic) * x * x) * (s - s * s);
}

template <class T>
__global__ void gelu_elements(const T* x, T* y, std::int64_t count) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    auto values = load_vec<N>(x + i, left);
    for (auto& value : values.at) value *= gelu_gate<T>(value);
    store_vec<N>(y + i, left, values);
  });
}

template <class T>
__global__ void gelu_backward_elements(const T* dy, const T* x, T* dx, std::int64_t count) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    const auto values = load_vec<N>(x + i, left);
    auto gradients = load_vec<N>(dy + i, left);
    for (int e = 0; e < N; ++e) gradients.at[e] *= gelu_slope<T>(values.at[e]);
    store_vec<N>(dx + i, left, gradients);
  });
}

template <class T>
__global__ void swiglu_rows(const T* gate_up, T* y, std::int64_t R, std::int64_t F) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(R, F, [&](std::int64_t r, std::int64_t f, std::int64_t left) {
    const T* const row = gate_up + r * 2 * F + f;
    const auto gate = load_vec<N>(row, left);
    auto up = load_vec<N>(row + F, left);
    for (int e = 0; e < N; ++e) up.at[e] *= gate.at[e] * sigmoid<T>(gate.at[e]);
    store_vec<N>(y + r * F + f, left, up);
  });
}

template <class T>
__global__ void swiglu_backward_rows(const T* dy, const T* gate_up, T* dgate_up, std::int64_t R,
                                     std::int64_t F) {
  constexpr int N = vec_size<T>;
  for_vecs<N>(R, F, [&](std::int64_t r, std::int64_t f, std::int64_t left) {
    const std::int64_t at = r * 2 * F + f;
    const auto gradient = load_vec<N>(dy + r * F + f, left);
    auto gate = load_vec<N>(gate_up + at, left), up = load_vec<N>(gate_up + at + F, left);
    for (int e = 0; e < N; ++e) {
      const Value<T> g = gate.at[e], s = sigmoid<T>(g);
      gate.at[e] = gradient.at[e] * up.at[e] * (s + g * (s - s * s));
      up.at[e] = gradient.at[e] * g * s;
    }
    store_vec<N>(dgate_up + at, left, gate);
    store_vec<N>(dgate_up + at + F, left, up);
  });
}

}  // namespace

void gelu(const Context& context, const Tensor& x_RF, const Tensor& y_RF) {
  with_elements(x_RF.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "gelu", grid_for_vecs(vec_size<T>, x_RF.numel()), gelu_elements<T>, x_RF.data<T>(),
           y_RF.data<T>(), x_RF.numel());
  });
}

void gelu_backward(const Context& context, const Tensor& dy_RF, const Tensor& x_RF, const Tensor& dx_RF) {
  with_elements(x_RF.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "gelu_backward", grid_for_vecs(vec_size<T>, x_RF.numel()), gelu_backward_elements<T>,
           dy_RF.data<T>(), x_RF.data<T>(), dx_RF.data<T>(), x_RF.numel());
  });
}

void swiglu(const Context& context, const Tensor& gate_up_RG, const Tensor& y_RF) {
  const std::int64_t R = y_RF.dim(0), F = y_RF.dim(1);
  with_elements(y_RF.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "swiglu", grid_for_vecs(vec_size<T>, R, F), swiglu_rows<T>, gate_up_RG.data<T>(),
           y_RF.data<T>(), R, F);
  });
}

void swiglu_backward(const Context& context, const Tensor& dy_RF, const Tensor& gate_up_RG,
                     const Tensor& dgate_up_RG) {
  const std::int64_t R = dy_RF.dim(0), F = dy_RF.dim(1);
  with_elements(dy_RF.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "swiglu_backward", grid_for_vecs(vec_size<T>, R, F), swiglu_backward_rows<T>,
           dy_RF.data<T>(), gate_up_RG.data<T>(), dgate_up_RG.data<T>(), R, F);
  });
}

}  // namespace dt::kernels::cuda
