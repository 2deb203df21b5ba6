// Exponentials e^(x − shift) for softmax and its sums. They are products, so that a sum adds them by
// a fused multiply-add. Compiled once per instruction set.

#include <array>
#include <cmath>
#include <concepts>

#include "kernels/cpu/simd/simd.hpp"

#ifndef DT_KERNELS_CPU_EXPONENTIALS_CONSTANTS
#define DT_KERNELS_CPU_EXPONENTIALS_CONSTANTS
namespace dt::kernels::cpu {

inline constexpr double log2_e = 1.4426950408889634;
/// The fp32 nearest to log2_e, and the difference.
inline constexpr float log2_e_high = 1.44269502f, log2_e_low = 1.92596303e-8f;

/// The powers 2^(j/32).
inline constexpr auto powers_of_two = [] {
  std::array<double, 64> powers{1};
  for (std::size_t j = 1; j < powers.size(); ++j) powers[j] = powers[j - 1] * 1.0218971486541166;
  return powers;
}();

}  // namespace dt::kernels::cpu
#endif

#if defined(DT_KERNELS_CPU_EXPONENTIALS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DT_KERNELS_CPU_EXPONENTIALS_TOGGLE
#undef DT_KERNELS_CPU_EXPONENTIALS_TOGGLE
#else
#define DT_KERNELS_CPU_EXPONENTIALS_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// An exponential, power · rest.
struct Product {
  V power, rest;
};

/// The exponential for any x ≤ shift, or slightly above it.
struct FromHighest {
  double shift;
  V highest;
  explicit FromHighest(float h) : shift(double{h}), highest(hn::Set(floats, h)) {}
  HWY_INLINE Product operator()(V x) const { return {exponential(hn::Sub(x, highest)), hn::Set(floats, 1)}; }
};

// The quick exponential takes half as many operations, for a shift anywhere near x. Values 87 or
// more above the shift give huge or infinite results; values as far below give 0. Values that are
// not finite give NaN or infinity.
//
// e^(x − shift) = 2^(n − s) · 2^r. The shift is s ln 2 for an integer s. n is x log₂e, rounded to
// an integer or to a fraction in a table. r = x log₂e − n. Digits are not lost for x at any
// distance from 0 or from the shift, since r is computed from x itself. n is exact. x log₂e − n is
// rounded once and is small, and so is the part that the low part of log₂e adds. For 16-bit logits
// the low part is left out. Then e^(x − shift) has a relative error of 1.4e-8 |x − shift|, with the
// shift that belongs to the high part alone.

template <class T>
constexpr bool is_short = !std::same_as<T, float>;
template <class T>
double shift_of(double s) {
  return s / (is_short<T> ? double{log2_e_high} : log2_e);
}

#if HWY_TARGET == HWY_AVX3

/// The quick exponential with a table: n is a multiple of 1/32, |r| ≤ 1/64. The power is 2^(n − s)
/// within ½ unit in the last place. For fp32 the rest is the quadratic polynomial 1 + r + … with
/// the least relative error, 5.4e-8. With two more roundings, the product is within two units in
/// the last place. For 16 bits the square is completed, so that the rest takes one operation:
/// 2^r = a (h² + b), h = r + 46/32, with a least relative error of 1.3e-7. Then n + r = (n − 46/32)
/// + h, and the table includes a and 2^(46/32).
///
/// The table also includes the power of the shift if fp32 can represent that; otherwise `is_far`.
template <class T, bool is_far>
struct Quick {
  static constexpr std::size_t offset = is_short<T> ? 46 : 0;  // in 32nds
  static constexpr double a = is_short<T> ? 0.24109941539747665 : 1;
  static constexpr auto table = [] {
    std::array<float, 32> entries{};
    for (std::size_t j = 0; j < 32; ++j) {
      // n's fraction is j/32. scalef adds ⌊n − offset/32⌋ to the exponent.
      const std::size_t above_floor = (j + 64 - offset) % 32;
      entries[j] = static_cast<float>(a * powers_of_two[above_floor] * powers_of_two[offset]);
    }
    return entries;
  }();

  double shift;
  V s, low, high;
  explicit Quick(float about) {
    const double exponent = std::round(double{about} * log2_e);
    shift = shift_of<T>(exponent);
    s = hn::Set(floats, static_cast<float>(exponent));
    const V power = hn::Set(floats, is_far ? 1 : static_cast<float>(std::exp2(-exponent)));
    low = hn::Mul(hn::LoadU(floats, table.data()), power);
    high = hn::Mul(hn::LoadU(floats, table.data() + 16), power);
  }

  HWY_INLINE Product operator()(V x) const {
    const auto c = [](float value) HWY_ATTR { return hn::Set(floats, value); };
    constexpr float magic = 393216;  // 1.5 · 2¹⁸: adding it leaves 32 n in the lowest bits
    const V shifted = hn::MulAdd(x, c(log2_e_high), c(magic));
    const V n = hn::Sub(shifted, c(magic + offset / 32.0f));
    const V entry{_mm512_permutex2var_ps(low.raw, _mm512_castps_si512(shifted.raw), high.raw)};
    const V power{_mm512_scalef_ps(entry.raw, is_far ? hn::Sub(n, s).raw : n.raw)};
    const V h = hn::MulSub(x, c(log2_e_high), n);
    if constexpr (is_short<T>) return {power, hn::MulAdd(h, h, c(2.08126002f))};
    const V r = hn::MulAdd(x, c(log2_e_low), h);
    return {power, hn::MulAdd(r, hn::MulAdd(r, c(0.240226492f), c(0.693157315f)), c(1))};
  }
};

#elif HWY_TARGET != HWY_SCALAR

/// The quick exponential without a table: n is an integer and |r| ≤ ½. 2^r is the polynomial
/// 1 + r + … with the least relative error: degree 5 and 9.2e-8 for fp32, degree 4 and 2.9e-6 for
/// 16 bits. A shift of any size costs the same.
template <class T, bool>
struct Quick {
  double shift;
  V magic, lowest, highest;
  explicit Quick(float about) {
    const double s = std::round(double{about} * log2_e);
    shift = shift_of<T>(s);
    // 1.5 · 2²³ would leave n in the lowest bits. This value leaves the exponent field of
    // 2^(n − s), which is 0 for 0 and at most 254.
    magic = hn::Set(floats, static_cast<float>(12582912 + 127 - s));
    lowest = hn::Set(floats, static_cast<float>((s - 126.9) / log2_e));
    highest = hn::Set(floats, static_cast<float>((s + 126.9) / log2_e));
  }

  HWY_INLINE Product operator()(V x) const {
    const auto c = [](float value) HWY_ATTR { return hn::Set(floats, value); };
    x = hn::Min(highest, hn::Max(lowest, x));
    const V shifted = hn::MulAdd(x, c(log2_e_high), magic);
    V r = hn::MulSub(x, c(log2_e_high), hn::Sub(shifted, magic));
    V p;
    if constexpr (is_short<T>) {
      p = hn::MulAdd(r, c(9.58285294e-3f), c(5.59064262e-2f));
      p = hn::MulAdd(r, p, c(0.240240991f));
      p = hn::MulAdd(r, p, c(0.693124175f));
    } else {
      r = hn::MulAdd(x, c(log2_e_low), r);
      p = hn::MulAdd(r, c(1.32647273e-3f), c(9.67151299e-3f));
      p = hn::MulAdd(r, p, c(5.55073358e-2f));
      p = hn::MulAdd(r, p, c(0.240222424f));
      p = hn::MulAdd(r, p, c(0.693147004f));
    }
    constexpr hn::RebindToUnsigned<Floats> integers;
    const V power = hn::BitCast(floats, hn::ShiftLeft<23>(hn::BitCast(integers, shifted)));
    return {power, hn::MulAdd(r, p, c(1))};
  }
};

#endif

/// Calls `body` with a quick exponential for a shift near `about`. Returns whether body accepted
/// it; false if no quick exponential exists.
template <class T, class Body>
HWY_INLINE bool with_quick([[maybe_unused]] float about, [[maybe_unused]] const Body& body) {
#if HWY_TARGET != HWY_SCALAR
  if (std::abs(about) < 64) return body(Quick<T, false>(about));
  if (std::abs(about) < 1 << 16) return body(Quick<T, true>(about));
#endif
  return false;
}

/// The quick exponential for x that may be −∞: e^−200 is 0 as well.
template <class Exponential>
struct Floored {
  const Exponential& exponential_of;
  double shift = exponential_of.shift;
  float least = static_cast<float>(shift) - 200;
  HWY_INLINE Product operator()(V x) const { return exponential_of(at_least(least, x)); }
};

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
