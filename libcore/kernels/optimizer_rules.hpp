// The optimizers' rules: what each does to an element, or to a vector of elements at once. X is the
// type of the elements. The SIMD kernels include this file once per instruction set, GPU kernels
// once. reference/optimizer_step.cpp specifies the results.

#include <cmath>

#include "kernels/optimizer_step.hpp"

// Compiled once per instruction set, however often it is included.
#if defined(DT_KERNELS_OPTIMIZER_RULES_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_OPTIMIZER_RULES_TOGGLE
#undef DT_KERNELS_OPTIMIZER_RULES_TOGGLE
#else
#define DT_KERNELS_OPTIMIZER_RULES_TOGGLE
#endif

#undef DT_RULE
#ifdef HWY_TARGET_INCLUDE
#define DT_RULE HWY_INLINE
HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

HWY_INLINE V mul_add(V a, V b, V c) {
  return hn::MulAdd(a, b, c);
}
HWY_INLINE V square_root(V x) {
  return hn::Sqrt(x);
}
HWY_INLINE V with_sign_of(V x, V magnitude) {
  const V zero = hn::Zero(floats);
  return hn::IfThenElse(hn::Gt(x, zero), magnitude, hn::IfThenElseZero(hn::Lt(x, zero), hn::Neg(magnitude)));
}
#else
#ifdef __device__
#define DT_RULE __device__ inline
#else
#define DT_RULE inline
#endif
namespace dt::kernels::cuda {

template <class X>
DT_RULE X mul_add(X a, X b, X c) {
  return a * b + c;
}
template <class X>
DT_RULE X square_root(X x) {
  return std::sqrt(x);
}
template <class X>
DT_RULE X with_sign_of(X x, X magnitude) {
  return x > 0 ? magnitude : x < 0 ? -magnitude : X(0);
}
#endif

// A rule's members are its factors, which `set` makes of numbers. A call takes a gradient, and
// replaces the weight and the states.

template <class X>
struct AdamW {
  static constexpr int num_states = 2;
  X grad_scale, beta1, one_minus_beta1, beta2, one_minus_beta2;
  X decay;   // lr · weight_decay
  X rate;    // lr / (1 − β₁ᵗ)
  X spread;  // 1 / √(1 − β₂ᵗ)
  X eps;

  template <class Set>
  AdamW(const OptimizerStep& step, const Set& set)
      : grad_scale(set(step.grad_scale)),
        beta1(set(step.settings.beta1)),
        one_minus_beta1(set(1 - step.settings.beta1)),
        beta2(set(step.settings.beta2)),
        one_minus_beta2(set(1 - step.settings.beta2)),
        decay(set(step.lr * step.settings.weight_decay)),
        rate(set(step.lr / (1 - std::pow(step.settings.beta1, static_cast<double>(step.step))))),
        spread(set(1 / std::sqrt(1 - std::pow(step.settings.beta2, static_cast<double>(step.step))))),
        eps(set(step.settings.eps)) {}

  DT_RULE void operator()(X grad, X& w, X* states) const {
    const X g = grad * grad_scale;
    states[0] = mul_add(beta1, states[0], one_minus_beta1 * g);
    states[1] = mul_add(beta2, states[1], one_minus_beta2 * g * g);
    // Decay and update are added first: 1 − lr · weight_decay would lose most of its digits in fp32.
    w = w - mul_add(decay, w, rate * states[0] / mul_add(square_root(states[1]), spread, eps));
  }
};

template <class X>
struct Sgd {
  static constexpr int num_states = 0;
  X grad_scale;
  X decay;  // lr · weight_decay
  X rate;   // lr

  template <class Set>
  Sgd(const OptimizerStep& step, const Set& set)
      : grad_scale(set(step.grad_scale)),
        decay(set(step.lr * step.settings.weight_decay)),
        rate(set(step.lr)) {}

  DT_RULE void operator()(X grad, X& w, X*) const { w = w - mul_add(decay, w, rate * (grad * grad_scale)); }
};

template <class X>
struct SgdMomentum {
  static constexpr int num_states = 1;
  X grad_scale, momentum;
  X decay;                     // lr · weight_decay
  X rate_of_g, rate_of_state;  // the rates of both in the update

  template <class Set>
  SgdMomentum(const OptimizerStep& step, const Set& set)
      : grad_scale(set(step.grad_scale)),
        momentum(set(step.settings.momentum)),
        decay(set(step.lr * step.settings.weight_decay)),
        rate_of_g(set(step.settings.nesterov ? step.lr : 0)),
        rate_of_state(set(step.settings.nesterov ? step.lr * step.settings.momentum : step.lr)) {}

  DT_RULE void operator()(X grad, X& w, X* states) const {
    const X g = grad * grad_scale;
    states[0] = mul_add(momentum, states[0], g);
    w = w - mul_add(decay, w, mul_add(rate_of_g, g, rate_of_state * states[0]));
  }
};

template <class X>
struct Lion {
  static constexpr int num_states = 1;
  X grad_scale, beta1, one_minus_beta1, beta2, one_minus_beta2;
  X decay;  // lr · weight_decay
  X rate;   // lr

  template <class Set>
  Lion(const OptimizerStep& step, const Set& set)
      : grad_scale(set(step.grad_scale)),
        beta1(set(step.settings.beta1)),
        one_minus_beta1(set(1 - step.settings.beta1)),
        beta2(set(step.settings.beta2)),
        one_minus_beta2(set(1 - step.settings.beta2)),
        decay(set(step.lr * step.settings.weight_decay)),
        rate(set(step.lr)) {}

  DT_RULE void operator()(X grad, X& w, X* states) const {
    const X g = grad * grad_scale;
    const X direction = mul_add(beta1, states[0], one_minus_beta1 * g);
    w = w - mul_add(decay, w, with_sign_of(direction, rate));
    states[0] = mul_add(beta2, states[0], one_minus_beta2 * g);
  }
};

/// Calls body(rule) with the optimizer's rule for elements of type X.
template <class X, class Set, class Body>
void with_rule(const OptimizerStep& step, const Set& set, const Body& body) {
  switch (step.settings.kind) {
    case OptimizerKind::adamw:
      return body(AdamW<X>(step, set));
    case OptimizerKind::sgd:
      if (step.settings.momentum > 0) return body(SgdMomentum<X>(step, set));
      return body(Sgd<X>(step, set));
    case OptimizerKind::lion:
      return body(Lion<X>(step, set));
    case OptimizerKind::muon:
    case OptimizerKind::adafactor:
      return;  // refused before
  }
}

#ifdef HWY_TARGET_INCLUDE
}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else
}  // namespace dt::kernels::cuda
#endif

#endif
