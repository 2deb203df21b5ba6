#include "kernels/activation.hpp"

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cpp"
#include "kernels/cpu/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

constexpr float cubic = 0.044715f;
constexpr float twice_scale = 1.5957691216057308f;  // 2√(2/π)

// ½(1 + tanh(u)) = sigmoid(2u). Beyond ±9 it is 0 or 1, and 2u still within what sigmoid takes.
constexpr float gate_limit = 9;
HWY_INLINE V gelu_gate(V x) {
  const V inner =
      hn::MulAdd(hn::Mul(x, x), hn::Set(floats, twice_scale * cubic), hn::Set(floats, twice_scale));
  return sigmoid(hn::Mul(x, inner));
}
HWY_INLINE V silu_gate(V x) {
  return sigmoid(clamp(x, 88));
}

void gelu_range(const float* x, float* y, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    const V v = load(lanes, x + i);
    const V clamped = clamp(v, gate_limit);
    const V gate = gelu_gate(clamped);  // not quite 0 at −9, so what lies beyond is taken as −9
    store(lanes, hn::Mul(hn::IfThenElse(hn::Lt(v, clamped), clamped, v), gate), y + i);
  });
}

// With s = sigmoid(2u): gelu' = s + x · 2u' · s(1 − s).
void gelu_backward_range(const float* dy, const float* x, float* dx, std::int64_t count) {
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    const V v = clamp(load(lanes, x + i), gate_limit);
    const V s = gelu_gate(v);
    const V slope =
        hn::MulAdd(hn::Mul(v, v), hn::Set(floats, 3 * twice_scale * cubic), hn::Set(floats, twice_scale));
    const V bend = hn::Mul(hn::Mul(v, slope), hn::NegMulAdd(s, s, s));
    store(lanes, hn::Mul(load(lanes, dy + i), hn::Add(s, bend)), dx + i);
  });
}

void swiglu_rows(const float* gate_up, float* y, std::int64_t rows, std::int64_t F) {
  for (std::int64_t r = 0; r < rows; ++r, gate_up += 2 * F, y += F) {
    for_lanes(F, [=](std::int64_t i, auto lanes) HWY_ATTR {
      const V gate = load(lanes, gate_up + i);
      store(lanes, hn::Mul(hn::Mul(gate, silu_gate(gate)), load(lanes, gate_up + F + i)), y + i);
    });
  }
}

void swiglu_backward_rows(const float* dy, const float* gate_up, float* dgate_up, std::int64_t rows,
                          std::int64_t F) {
  for (std::int64_t r = 0; r < rows; ++r, gate_up += 2 * F, dgate_up += 2 * F, dy += F) {
    for_lanes(F, [=](std::int64_t i, auto lanes) HWY_ATTR {
      const V gate = load(lanes, gate_up + i), up = load(lanes, gate_up + F + i), g = load(lanes, dy + i);
      const V s = silu_gate(gate);
      const V slope = hn::MulAdd(gate, hn::NegMulAdd(s, s, s), s);  // s + gate · s(1 − s)
      store(lanes, hn::Mul(hn::Mul(g, up), slope), dgate_up + i);
      store(lanes, hn::Mul(g, hn::Mul(gate, s)), dgate_up + F + i);
    });
  }
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(gelu_range);
HWY_EXPORT(gelu_backward_range);
HWY_EXPORT(swiglu_rows);
HWY_EXPORT(swiglu_backward_rows);

void gelu(const Context& context, const Tensor& x_RF, const Tensor& y_RF) {
  const float* x = x_RF.data<float>();
  float* y = y_RF.data<float>();
  for_elements(context, x_RF.numel(), [=](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_range)(x + begin, y + begin, end - begin);
  });
}

void gelu_backward(const Context& context, const Tensor& dy_RF, const Tensor& x_RF, const Tensor& dx_RF) {
  const float* dy = dy_RF.data<float>();
  const float* x = x_RF.data<float>();
  float* dx = dx_RF.data<float>();
  for_elements(context, x_RF.numel(), [=](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gelu_backward_range)(dy + begin, x + begin, dx + begin, end - begin);
  });
}

void swiglu(const Context& context, const Tensor& gate_up_RG, const Tensor& y_RF) {
  const std::int64_t R = y_RF.dim(0), F = y_RF.dim(1);
  const float* gate_up = gate_up_RG.data<float>();
  float* y = y_RF.data<float>();
  for_ranges(context, R, 3 * F, [=](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(swiglu_rows)(gate_up + begin * 2 * F, y + begin * F, end - begin, F);
  });
}

void swiglu_backward(const Context& context, const Tensor& dy_RF, const Tensor& gate_up_RG,
                     const Tensor& dgate_up_RG) {
  const std::int64_t R = dy_RF.dim(0), F = dy_RF.dim(1);
  const float* dy = dy_RF.data<float>();
  const float* gate_up = gate_up_RG.data<float>();
  float* dgate_up = dgate_up_RG.data<float>();
  for_ranges(context, R, 5 * F, [=](std::int64_t begin, std::int64_t end) {
    const std::int64_t offset = begin * 2 * F;
    HWY_DYNAMIC_DISPATCH(swiglu_backward_rows)
    (dy + begin * F, gate_up + offset, dgate_up + offset, end - begin, F);
  });
}

}  // namespace dt::kernels::cpu
#endif
