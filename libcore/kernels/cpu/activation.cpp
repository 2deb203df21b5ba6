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

/// Returns the cumulative normal distribution, ½ erfc(−x/√2). With z = |x|/√2 and t = 1/(1 + z/2),
/// erfc(z) is t · e^(−z²) · e^p(t) with a polynomial p of degree 9; its relative error is 1.2e-7.
/// Source: Press et al. 1992, Numerical Recipes in C, section 6.2 (erfcc).
HWY_INLINE V cumulative_normal(V x) {
  const auto c = [](float value) HWY_ATTR { return hn::Set(floats, value); };
  const V z = hn::Mul(hn::Abs(x), c(0.70710678f));
  const V t = reciprocal(hn::MulAdd(z, c(0.5f), c(1)));
  V p = c(0.17087277f);
  for (const float a : {-0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f, -0.18628806f, 0.09678418f,
                        0.37409196f, 1.00002368f, -1.26551223f})
    p = hn::MulAdd(p, t, c(a));
  const V tail = hn::Mul(hn::Mul(t, c(0.5f)), exponential(hn::NegMulAdd(z, z, p)));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(floats)), tail, hn::Sub(c(1), tail));
}

// An activation has its value at x; and value and slope together, for the backward.

struct Gelu {
  HWY_INLINE static V value(V x) { return hn::Mul(x, gelu_gate(x)); }
  // gelu' = s + x · 2u' · s(1 − s) with s = sigmoid(2u). Beyond ±9 this is 0 or 1, and u' would overflow.
  HWY_INLINE static void differentiate(V x, V& value, V& slope) {
    const V v = clamp(x, 9);
    const V s = gelu_gate(v);
    const V twice =
        hn::MulAdd(hn::Mul(v, v), hn::Set(floats, 3 * twice_scale * cubic), hn::Set(floats, twice_scale));
    value = hn::Mul(x, s);
    slope = hn::Add(s, hn::Mul(hn::Mul(v, twice), hn::NegMulAdd(s, s, s)));
  }
};

struct GeluErf {
  HWY_INLINE static V value(V x) { return hn::Mul(x, cumulative_normal(x)); }
  HWY_INLINE static void differentiate(V x, V& value, V& slope) {
    const V v = clamp(x, 14);  // beyond, the density is 0 and its square would overflow
    const V below = cumulative_normal(v);
    const V density = exponential(hn::Mul(hn::Mul(v, v), hn::Set(floats, -0.5f)));
    value = hn::Mul(x, below);
    slope = hn::MulAdd(hn::Mul(v, hn::Set(floats, 0.3989422804f)), density, below);
  }
};

struct Silu {
  HWY_INLINE static V value(V x) { return hn::Mul(x, sigmoid_of_minus(hn::Neg(x))); }
  HWY_INLINE static void differentiate(V x, V& value, V& slope) {
    const V s = sigmoid_of_minus(hn::Neg(x));
    value = hn::Mul(x, s);
    slope = hn::MulAdd(x, hn::NegMulAdd(s, s, s), s);  // s + x · s(1 − s)
  }
};

struct Relu2 {
  HWY_INLINE static V positive(V x) {  // NaN stays NaN
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(floats)), x);
  }
  HWY_INLINE static V value(V x) { return hn::Mul(positive(x), positive(x)); }
  HWY_INLINE static void differentiate(V x, V& value, V& slope) {
    value = Relu2::value(x);
    slope = hn::Add(positive(x), positive(x));
  }
};

template <class F, class T>
void elements(const T* x, T* y, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    fetch_ahead(lanes, x + i);
    store(lanes, F::value(load(lanes, x + i)), y + i);
  });
}

template <class F, class T>
void backward_elements(const T* dy, const T* x, T* dx, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    fetch_ahead(lanes, dy + i), fetch_ahead(lanes, x + i);
    V value, slope;
    F::differentiate(load(lanes, x + i), value, slope);
    store(lanes, hn::Mul(load(lanes, dy + i), slope), dx + i);
  });
}

template <class F, class T>
void gated_row(const T* gates, const T* ups, T* y, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    fetch_ahead(lanes, gates + i), fetch_ahead(lanes, ups + i);
    store(lanes, hn::Mul(F::value(load(lanes, gates + i)), load(lanes, ups + i)), y + i);
  });
}

template <class F, class T>
void gated_backward_row(const T* dy, const T* gates, const T* ups, T* dgates, T* dups, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    fetch_ahead(lanes, dy + i), fetch_ahead(lanes, gates + i), fetch_ahead(lanes, ups + i);
    const V up = load(lanes, ups + i), g = load(lanes, dy + i);
    V value, slope;
    F::differentiate(load(lanes, gates + i), value, slope);
    store(lanes, hn::Mul(hn::Mul(g, up), slope), dgates + i);
    store(lanes, hn::Mul(g, value), dups + i);
  });
}

/// Call body(F(), element) with the activation and the element type.
template <class Body>
void with_plain(Activation f, DType dtype, const Body& body) {
  with_elements(dtype, [&](auto element) HWY_ATTR {
    if (f == Activation::gelu) return body(Gelu(), element);
    if (f == Activation::gelu_erf) return body(GeluErf(), element);
    body(Relu2(), element);
  });
}
template <class Body>
void with_gating(Activation f, DType dtype, const Body& body) {
  with_elements(dtype, [&](auto element) HWY_ATTR {
    if (f == Activation::gelu) return body(Gelu(), element);
    body(Silu(), element);
  });
}

void activation_part(Activation f, const Tensor& x, const Tensor& y, std::int64_t begin, std::int64_t end) {
  with_plain(f, x.dtype(), [&](auto function, auto element) HWY_ATTR {
    using T = decltype(element);
    elements<decltype(function)>(x.data<T>() + begin, y.data<T>() + begin, end - begin);
  });
}

void activation_backward_part(Activation f, const Tensor& dy, const Tensor& x, const Tensor& dx,
                              std::int64_t begin, std::int64_t end) {
  with_plain(f, x.dtype(), [&](auto function, auto element) HWY_ATTR {
    using T = decltype(element);
    backward_elements<decltype(function)>(dy.data<T>() + begin, x.data<T>() + begin, dx.data<T>() + begin,
                                          end - begin);
  });
}

void gated_activation_rows(Activation f, const Tensor& gate_up_RG, const Tensor& y_RF, std::int64_t begin,
                           std::int64_t end) {
  const std::int64_t F = y_RF.dim(1);
  with_gating(f, y_RF.dtype(), [&](auto function, auto element) HWY_ATTR {
    using T = decltype(element);
    for (std::int64_t r = begin; r < end; ++r) {
      const T* gates = gate_up_RG.data<T>() + r * 2 * F;
      gated_row<decltype(function)>(gates, gates + F, y_RF.data<T>() + r * F, F);
    }
  });
}

void gated_activation_backward_rows(Activation f, const Tensor& dy_RF, const Tensor& gate_up_RG,
                                    const Tensor& dgate_up_RG, std::int64_t begin, std::int64_t end) {
  const std::int64_t F = dy_RF.dim(1);
  with_gating(f, dy_RF.dtype(), [&](auto function, auto element) HWY_ATTR {
    using T = decltype(element);
    for (std::int64_t r = begin; r < end; ++r) {
      const T* gates = gate_up_RG.data<T>() + r * 2 * F;
      T* dgates = dgate_up_RG.data<T>() + r * 2 * F;
      gated_backward_row<decltype(function)>(dy_RF.data<T>() + r * F, gates, gates + F, dgates, dgates + F,
                                             F);
    }
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(activation_part);
HWY_EXPORT(activation_backward_part);
HWY_EXPORT(gated_activation_rows);
HWY_EXPORT(gated_activation_backward_rows);

void activation(const Context& context, Activation f, const Tensor& x_RF, const Tensor& y_RF) {
  for_elements(context, x_RF.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(activation_part)(f, x_RF, y_RF, begin, end);
  });
}

void activation_backward(const Context& context, Activation f, const Tensor& dy_RF, const Tensor& x_RF,
                         const Tensor& dx_RF) {
  for_elements(context, x_RF.numel(), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(activation_backward_part)(f, dy_RF, x_RF, dx_RF, begin, end);
  });
}

void gated_activation(const Context& context, Activation f, const Tensor& gate_up_RG, const Tensor& y_RF) {
  for_ranges(context, y_RF.dim(0), 3 * y_RF.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gated_activation_rows)(f, gate_up_RG, y_RF, begin, end);
  });
}

void gated_activation_backward(const Context& context, Activation f, const Tensor& dy_RF,
                               const Tensor& gate_up_RG, const Tensor& dgate_up_RG) {
  for_ranges(context, dy_RF.dim(0), 5 * dy_RF.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gated_activation_backward_rows)(f, dy_RF, gate_up_RG, dgate_up_RG, begin, end);
  });
}

}  // namespace dt::kernels::cpu
#endif
