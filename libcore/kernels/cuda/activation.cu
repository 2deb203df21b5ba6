#include "kernels/cuda/code.cuh"
#include "kernels/cuda/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

constexpr double cubic = 0.044715, twice_scale = 1.5957691216057308;  // 2√(2/π)

template <class V>
__device__ V sigmoid(V x) {
  return 1 / (1 + std::exp(-x));
}

/// ½(1 + tanh(u)) = sigmoid(2u).
template <class V>
__device__ V gelu_gate(V x) {
  return sigmoid(x * (V(twice_scale) + V(twice_scale * cubic) * x * x));
}

/// With s = sigmoid(2u): gelu' = s + x · 2u' · s(1 − s). Beyond ±9 that is 0 or 1, and u' would overflow. A
/// NaN stays one.
template <class V>
__device__ V gelu_slope(V x) {
  constexpr V bound = 9;
  x = x > bound ? bound : x < -bound ? -bound : x;
  const V s = gelu_gate(x);
  return s + x * (V(twice_scale) + V(3 * twice_scale * cubic) * x * x) * (s - s * s);
}

template <class T>
__global__ void gelu_elements(const T* x, T* y, std::int64_t count) {
  for (std::int64_t i = first_element(); i < count; i += element_stride()) {
    const Value<T> value = load(x + i);
    y[i] = T(value * gelu_gate(value));
  }
}

template <class T>
__global__ void gelu_backward_elements(const T* dy, const T* x, T* dx, std::int64_t count) {
  for (std::int64_t i = first_element(); i < count; i += element_stride())
    dx[i] = T(load(dy + i) * gelu_slope(load(x + i)));
}

/// A thread for every column of some rows, which are blockIdx.y's: nobody divides to find out where it is.
Grid grid_for_rows(std::int64_t R, std::int64_t F) {
  constexpr std::int64_t rows_of_thread = 4, most_blocks = 65535;
  const std::int64_t blocks = (F + threads_per_block - 1) / threads_per_block;
  const std::int64_t blocks_y = (R + rows_of_thread - 1) / rows_of_thread;
  return {.blocks = static_cast<unsigned>(std::max<std::int64_t>(blocks, 1)),
          .blocks_y = static_cast<unsigned>(std::clamp<std::int64_t>(blocks_y, 1, most_blocks)),
          .threads = threads_per_block};
}

template <class T>
__global__ void swiglu_rows(const T* gate_up, T* y, std::int64_t R, std::int64_t F) {
  const std::int64_t f = first_element();
  if (f >= F) return;
  for (std::int64_t r = blockIdx.y; r < R; r += gridDim.y) {
    const T* const row = gate_up + r * 2 * F;
    const Value<T> gate = load(row + f);
    y[r * F + f] = T(gate * sigmoid(gate) * load(row + F + f));
  }
}

template <class T>
__global__ void swiglu_backward_rows(const T* dy, const T* gate_up, T* dgate_up, std::int64_t R,
                                     std::int64_t F) {
  using V = Value<T>;
  const std::int64_t f = first_element();
  if (f >= F) return;
  for (std::int64_t r = blockIdx.y; r < R; r += gridDim.y) {
    const std::int64_t at = r * 2 * F + f;
    const V gradient = load(dy + r * F + f), gate = load(gate_up + at), up = load(gate_up + at + F);
    const V s = sigmoid(gate);
    dgate_up[at] = T(gradient * up * (s + gate * (s - s * s)));
    dgate_up[at + F] = T(gradient * gate * s);
  }
}

}  // namespace

void gelu(const Context& context, const Tensor& x_RF, const Tensor& y_RF) {
  with_elements(x_RF.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "gelu", grid_for(x_RF.numel()), gelu_elements<T>, x_RF.data<T>(), y_RF.data<T>(),
           x_RF.numel());
  });
}

void gelu_backward(const Context& context, const Tensor& dy_RF, const Tensor& x_RF, const Tensor& dx_RF) {
  with_elements(x_RF.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "gelu_backward", grid_for(x_RF.numel()), gelu_backward_elements<T>, dy_RF.data<T>(),
           x_RF.data<T>(), dx_RF.data<T>(), x_RF.numel());
  });
}

void swiglu(const Context& context, const Tensor& gate_up_RG, const Tensor& y_RF) {
  const std::int64_t R = y_RF.dim(0), F = y_RF.dim(1);
  with_elements(y_RF.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "swiglu", grid_for_rows(R, F), swiglu_rows<T>, gate_up_RG.data<T>(), y_RF.data<T>(), R,
           F);
  });
}

void swiglu_backward(const Context& context, const Tensor& dy_RF, const Tensor& gate_up_RG,
                     const Tensor& dgate_up_RG) {
  const std::int64_t R = dy_RF.dim(0), F = dy_RF.dim(1);
  with_elements(dy_RF.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "swiglu_backward", grid_for_rows(R, F), swiglu_backward_rows<T>, dy_RF.data<T>(),
           gate_up_RG.data<T>(), dgate_up_RG.data<T>(), R, F);
  });
}

}  // namespace dt::kernels::cuda
