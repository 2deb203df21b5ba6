#include "kernels/activation.hpp"

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

constexpr float cubic = 0.044715f;
constexpr float twice_scale = 1.5957691216057308f;  // 2√(2/π)

/// Returns ½(1 + tanh(u)) = sigmoid(2u).
HWY_INLINE V gelu_gate(V x) {
  const V minus_slope =
      hn::MulAdd(hn::Mul(x, x), hn::Set(floats, -twice_scale * cubic), hn::Set(floats, -twice_scale));
  return sigmoid_of_minus(hn::Mul(x, minus_slope));
}
HWY_INLINE V silu_gate(V x) {
  return sigmoid_of_minus(hn::Neg(x));
}

template <class T>
void gelu_elements(const T* x, T* y, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    fetch_ahead(lanes, x + i);
    const V v = load(lanes, x + i);
    store(lanes, hn::Mul(v, gelu_gate(v)), y + i);
  });
}

// Uses gelu' = s + x · 2u' · s(1 − s) with s = sigmoid(2u). Beyond ±9 this is 0 or 1, and u' would
// overflow.
template <class T>
void gelu_backward_elements(const T* dy, const T* x, T* dx, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    fetch_ahead(lanes, dy + i), fetch_ahead(lanes, x + i);
    const V v = clamp(load(lanes, x + i), 9);
    const V s = gelu_gate(v);
    const V slope =
        hn::MulAdd(hn::Mul(v, v), hn::Set(floats, 3 * twice_scale * cubic), hn::Set(floats, twice_scale));
    const V bend = hn::Mul(hn::Mul(v, slope), hn::NegMulAdd(s, s, s));
    store(lanes, hn::Mul(load(lanes, dy + i), hn::Add(s, bend)), dx + i);
  });
}

template <class T>
void swiglu_row(const T* gates, const T* ups, T* y, std::int64_t F) {
  for_lanes(F, [=](std::int64_t i, auto lanes) HWY_ATTR {
    fetch_ahead(lanes, gates + i), fetch_ahead(lanes, ups + i);
    const V gate = load(lanes, gates + i);
    store(lanes, hn::Mul(hn::Mul(gate, silu_gate(gate)), load(lanes, ups + i)), y + i);
  });
}

template <class T>
void swiglu_backward_row(const T* dy, const T* gates, const T* ups, T* dgates, T* dups, std::int64_t F) {
  for_lanes(F, [=](std::int64_t i, auto lanes) HWY_ATTR {
    fetch_ahead(lanes, dy + i), fetch_ahead(lanes, gates + i), fetch_ahead(lanes, ups + i);
    const V gate = load(lanes, gates + i), up = load(lanes, ups + i), g = load(lanes, dy + i);
    const V s = silu_gate(gate);
    const V slope = hn::MulAdd(gate, hn::NegMulAdd(s, s, s), s);  // s + gate · s(1 − s)
    store(lanes, hn::Mul(hn::Mul(g, up), slope), dgates + i);
    store(lanes, hn::Mul(g, hn::Mul(gate, s)), dups + i);
  });
}

void gelu_part(const Tensor& x, const Tensor& y, std::int64_t begin, std::int64_t end) {
  with_elements(x.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    gelu_elements(x.data<T>() + begin, y.data<T>() + begin, end - begin);
  });
}

void gelu_backward_part(const Tensor& dy, const Tensor& x, const Tensor& dx, std::int64_t begin,
                        std::int64_t end) {
  with_elements(x.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    gelu_backward_elements(dy.data<T>() + begin, x.data<T>() + begin, dx.data<T>() + begin, end - begin);
  });
}

void swiglu_rows(const Tensor& gate_up_RG, const Tensor& y_RF, std::int64_t begin, std::int64_t end) {
  const std::int64_t F = y_RF.dim(1);
  with_elements(y_RF.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    for (std::int64_t r = begin; r < end; ++r) {
      const T* gates = gate_up_RG.data<T>() + r * 2 * F;
      swiglu_row(gates, gates + F, y_RF.data<T>() + r * F, F);
    }
  });
}

void swiglu_backward_rows(const Tensor& dy_RF, const Tensor& gate_up_RG, const Tensor& dgate_up_RG,
                          std::int64_t begin, std::int64_t end) {
  const std::int64_t F = dy_RF.dim(1);
  with_elements(dy_RF.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    for (std::int64_t r = begin; r < end; ++r) {
      const T* gates = gate_up_RG.data<T>() + r * 2 * F;
      T* dgates = dgate_up_RG.data<T>() + r * 2 * F;
      swiglu_backward_row(dy_RF.data<T>() + r * F, gates, gates + F, dgates, dgates + F, F);
    }
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(gelu_part);
HWY_EXPORT(gelu_backward_part);
HWY_EXPORT(swiglu_rows);
HWY_EXPORT(swiglu_backward_rows);

void gelu(const Context& context, const Tensor& x_RF, const Tensor& y_RF) {
  for_elements(context, x_RF.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_part)(x_RF, y_RF, begin, end);
  });
}

void gelu_backward(const Context& context, const Tensor& dy_RF, const Tensor& x_RF, const Tensor& dx_RF) {
  for_elements(context, x_RF.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_backward_part)(dy_RF, x_RF, dx_RF, begin, end);
  });
}

void swiglu(const Context& context, const Tensor& gate_up_RG, const Tensor& y_RF) {
  for_ranges(context, y_RF.dim(0), 3 * y_RF.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(swiglu_rows)(gate_up_RG, y_RF, begin, end);
  });
}

void swiglu_backward(const Context& context, const Tensor& dy_RF, const Tensor& gate_up_RG,
                     const Tensor& dgate_up_RG) {
  for_ranges(context, dy_RF.dim(0), 5 * dy_RF.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(swiglu_backward_rows)(dy_RF, gate_up_RG, dgate_up_RG, begin, end);
  });
}

}  // namespace dt::kernels::cpu
#endif
