// The hyperbolic tangent of vectors. Compiled once per instruction set.

#include "kernels/cpu/simd/simd.hpp"

#if defined(DT_KERNELS_CPU_HYPERBOLIC_TANGENT_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_CPU_HYPERBOLIC_TANGENT_TOGGLE
#undef DT_KERNELS_CPU_HYPERBOLIC_TANGENT_TOGGLE
#else
#define DT_KERNELS_CPU_HYPERBOLIC_TANGENT_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// Returns tanh(x): x · P(x²)/Q(x²), of degrees 5 and 4, with the least relative error for |x| ≤ 8.
/// Beyond ±8 the result is that of ±8. NaN stays NaN, since a diverged run must show in the loss.
/// Numerics: within 5 units in the last place (relative 3e-7), nearly all of it rounding; never
/// beyond ±1.
HWY_INLINE V hyperbolic_tangent(V x) {
  const auto f = [](float value) HWY_ATTR { return hn::Set(floats, value); };
  x = clamp(x, 8);
  const V z = hn::Mul(x, x);
  V p = hn::MulAdd(z, f(-1.45465228e-11f), f(3.35704122e-8f));
  V q = hn::MulAdd(z, f(1.37231871e-6f), f(4.04207909e-4f));
  p = hn::MulAdd(z, p, f(2.92043678e-5f));
  q = hn::MulAdd(z, q, f(2.7458325e-2f));
  p = hn::MulAdd(z, p, f(3.9266008e-3f));
  q = hn::MulAdd(z, q, f(4.70595151e-1f));
  p = hn::MulAdd(z, p, f(1.37261823e-1f));
  q = hn::MulAdd(z, q, f(1));
  p = hn::MulAdd(z, p, f(1));
  return hn::Div(hn::Mul(x, p), q);
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
