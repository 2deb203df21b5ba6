#include "kernels/cross_entropy.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#ifndef DT_KERNELS_CPU_CROSS_ENTROPY_RUN
#define DT_KERNELS_CPU_CROSS_ENTROPY_RUN
namespace dt::kernels::cpu {

/// The number of logits in a run. Each run is summed in fp32, and runs are summed in double. A
/// single fp32 sum over a vocabulary would lose digits of the loss.
template <class T>
inline constexpr std::int64_t softmax_run = 8192 / sizeof(T);

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

#define HWY_TARGET_INCLUDE "kernels/cpu/cross_entropy.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// Returns the highest of x and `least`.
template <class T>
HWY_INLINE float highest_of(const T* x, std::int64_t count, float least) {
  const V lowest = hn::Set(floats, least);
  V highest[4] = {lowest, lowest, lowest, lowest};
  std::int64_t i = 0;
  for (; i + 4 * num_lanes <= count; i += 4 * num_lanes) {
    for (int n = 0; n < 4; ++n) highest[n] = hn::Max(highest[n], load(All{}, x + i + n * num_lanes));
  }
  for_lanes(count - i, [&](std::int64_t j, auto lanes) HWY_ATTR {
    highest[0] = hn::Max(highest[0], keep(lanes, load(lanes, x + i + j), lowest));
  });
  const V pairs = hn::Max(hn::Max(highest[0], highest[1]), hn::Max(highest[2], highest[3]));
  return hn::GetLane(hn::MaxOfLanes(floats, pairs));
}

// Exponentials e^(x − shift) are products, so that a sum adds them by a fused multiply-add.

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

template <class T, class Exponential>
HWY_INLINE float sum_run(const T* x, std::int64_t count, const Exponential& exponential_of) {
  V sums[4] = {hn::Zero(floats), hn::Zero(floats), hn::Zero(floats), hn::Zero(floats)};
  const auto add = [&](V& sum, V v) HWY_ATTR {
    const auto [power, rest] = exponential_of(v);
    sum = hn::MulAdd(power, rest, sum);
  };
  std::int64_t i = 0;
  for (; i + 4 * num_lanes <= count; i += 4 * num_lanes) {
    for (int n = 0; n < 4; n += 2) {
      const T* two = x + i + n * num_lanes;
      fetch_ahead(OneOfTwo{}, two);
      add(sums[n], load(OneOfTwo{}, two));
      add(sums[n + 1], load(OtherOfTwo{}, two));
    }
  }
  for_lanes(count - i, [&](std::int64_t j, auto lanes) HWY_ATTR {
    V sum = sums[0];
    add(sum, load(lanes, x + i + j));
    sums[0] = keep(lanes, sum, sums[0]);
  });
  const V total = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(floats, total));
}

/// Returns Σ e^(x − shift); infinity or NaN if some x are too high or not finite.
template <class T, class Exponential>
double sum_row(const T* x, std::int64_t count, const Exponential& exponential_of) {
  constexpr float most_of_run = 0x1p60f;
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += softmax_run<T>) {
    const float total = sum_run(x + begin, HWY_MIN(softmax_run<T>, count - begin), exponential_of);
    if (!(total <= most_of_run)) return std::numeric_limits<double>::infinity();
    sum += double{total};
  }
  return sum;
}

/// Sums any logits, each run relative to the highest so far.
template <class T>
SumOfExponentials sum_from_highest(const T* x, std::int64_t count) {
  float highest = std::numeric_limits<float>::lowest();  // finite, so that a run of −∞ adds 0
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += softmax_run<T>) {
    const std::int64_t length = HWY_MIN(softmax_run<T>, count - begin);
    const float before = highest;
    highest = highest_of(x + begin, length, highest);
    if (highest != before) sum *= std::exp(double{before} - double{highest});
    sum += double{sum_run(x + begin, length, FromHighest(highest))};
  }
  return {double{highest}, sum};
}

/// Calls body(exponential_of, Σ e^x), which share one shift. The first logits indicate the range of
/// the others. A search for the highest of all would cost as much as a quick exponential. It is
/// needed only if the sum shows that some logits are far higher.
template <class T, class Body>
HWY_INLINE void with_exponentials(const T* x, std::int64_t count, const Body& body) {
  const float about = highest_of(x, HWY_MIN(count, 64), std::numeric_limits<float>::lowest());
  const auto is_done = [&](const auto& quick) HWY_ATTR {
    const double sum = sum_row(x, count, quick);
    if (std::isfinite(sum)) body(quick, SumOfExponentials{quick.shift, sum});
    return std::isfinite(sum);
  };
  if (with_quick<T>(about, is_done)) return;
  const SumOfExponentials all = sum_from_highest(x, count);
  body(FromHighest(static_cast<float>(all.shift)), all);
}

/// Calls body(exponential_of) for x that are part of a sum with this shift. Thus none is far above
/// the shift: no run's sum exceeds 2⁶⁰ e^shift.
template <class T, class Body>
HWY_INLINE void with_exponential_of_sum(const T*, double shift, const Body& body) {
  const auto about = static_cast<float>(shift);
  const auto run = [&](const auto& quick) HWY_ATTR {
    body(Floored<std::remove_cvref_t<decltype(quick)>>{quick});
    return true;
  };
  if (!with_quick<T>(about, run)) body(FromHighest(about));
}

/// Replaces logits by e · factor. Meanwhile prefetches the row at `next`: all of a row of 16 bits,
/// half of one of fp32, which takes less computation per byte.
template <class T, class Exponential>
HWY_INLINE void softmax_row(T* logits, std::int64_t count, const Exponential& exponential_of, float by,
                            const T* next) {
  const V factor = hn::Set(floats, by);
  const auto value = [&](V x) HWY_ATTR {
    const auto [power, rest] = exponential_of(x);
    return hn::Mul(hn::Mul(power, rest), factor);
  };
  std::int64_t i = 0;
  for (; i + 2 * num_lanes <= count; i += 2 * num_lanes) {
    __builtin_prefetch(reinterpret_cast<const char*>(next) + 2 * i, 0, 2);
    const V one = load(OneOfTwo{}, logits + i), other = load(OtherOfTwo{}, logits + i);
    store_two(value(one), value(other), logits + i);
  }
  for_lanes(count - i, [&](std::int64_t j, auto lanes)
                           HWY_ATTR { store(lanes, value(load(lanes, logits + i + j)), logits + i + j); });
}

template <class T>
struct Row {
  T* logits;
  std::int64_t count;
  bool has_target;
  std::int64_t label;  // index among these logits, −1 if it is not among them
  const T* next;       // the following row
  double at_label() const { return label < 0 ? 0 : double{static_cast<float>(logits[label])}; }
};

/// Calls body(r, row) for rows [begin, end).
template <class Body>
HWY_INLINE void for_rows(const Tensor& logits_RV, const Tensor& labels_R, DimShard columns,
                         std::int64_t begin, std::int64_t end, const Body& body) {
  const std::int64_t V_ = logits_RV.dim(1);
  const std::int32_t* labels = labels_R.data<std::int32_t>();
  with_elements(logits_RV.dtype(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    for (std::int64_t r = begin; r < end; ++r) {
      T* logits = logits_RV.data<T>() + r * V_;
      const T* next = r + 1 < end ? logits + V_ : logits;
      body(r, Row<T>{logits, V_, labels[r] >= 0, columns.local_index(labels[r], V_), next});
    }
  });
}

/// Replaces the row by its gradient and returns its nll.
template <class T, class Exponential>
HWY_INLINE double set_gradient(const Row<T>& row, const Exponential& exponential_of, const PartialLoss& whole,
                               float scale) {
  const double nll = whole.nll(), factor = std::exp(-whole.exponentials.nll(exponential_of.shift)) * scale;
  softmax_row(row.logits, row.count, exponential_of, static_cast<float>(factor), row.next);
  if (row.label >= 0) row.logits[row.label] = T(static_cast<float>((std::exp(-nll) - 1) * scale));
  return nll;
}

/// Does the same for a row without a target.
template <class T>
double set_no_gradient(const Row<T>& row) {
  std::fill_n(row.logits, row.count, T{});
  return 0;
}

void cross_entropy_rows(const Tensor& logits_RV, const Tensor& labels_R, const Tensor& nll_R,
                        std::int64_t begin, std::int64_t end) {
  double* nll = nll_R.data<double>();
  for_rows(logits_RV, labels_R, {}, begin, end, [&](std::int64_t r, const auto& row) HWY_ATTR {
    nll[r] = 0;
    if (!row.has_target) return;
    with_exponentials(row.logits, row.count,
                      [&](const auto&, const SumOfExponentials& all) { nll[r] = all.nll(row.at_label()); });
  });
}

void cross_entropy_gradient_rows(const Tensor& labels_R, float scale, const Tensor& nll_R,
                                 const Tensor& logits_RV, std::int64_t begin, std::int64_t end) {
  double* nll = nll_R.data<double>();
  for_rows(logits_RV, labels_R, {}, begin, end, [&](std::int64_t r, const auto& row) HWY_ATTR {
    if (!row.has_target) return void(nll[r] = set_no_gradient(row));
    const auto finish = [&](const auto& exponential_of, const SumOfExponentials& all) HWY_ATTR {
      nll[r] = set_gradient(row, exponential_of, {all, row.at_label()}, scale);
    };
    with_exponentials(row.logits, row.count, finish);
  });
}

void cross_entropy_part_rows(const Tensor& logits_RV, const Tensor& labels_R, DimShard columns,
                             const Tensor& part_3R, std::int64_t begin, std::int64_t end) {
  double* part = part_3R.data<double>();
  const std::int64_t R = part_3R.dim(1);
  for_rows(logits_RV, labels_R, columns, begin, end, [&](std::int64_t r, const auto& row) HWY_ATTR {
    if (!row.has_target) return store_partial_loss(part, R, r, {});
    with_exponentials(row.logits, row.count, [&](const auto&, const SumOfExponentials& here) {
      store_partial_loss(part, R, r, {here, row.at_label()});
    });
  });
}

void cross_entropy_gradient_of_parts_rows(const Tensor& parts_N3R, const Tensor& labels_R, DimShard columns,
                                          float scale, const Tensor& nll_R, const Tensor& logits_RV,
                                          std::int64_t begin, std::int64_t end) {
  const double* parts = parts_N3R.data<double>();
  const std::int64_t N = parts_N3R.dim(0), R = parts_N3R.dim(2);
  double* nll = nll_R.data<double>();
  for_rows(logits_RV, labels_R, columns, begin, end, [&](std::int64_t r, const auto& row) HWY_ATTR {
    if (!row.has_target) return void(nll[r] = set_no_gradient(row));
    const PartialLoss whole = combine_partial_losses(parts, N, R, r);
    const auto finish = [&](const auto& exponential_of)
                            HWY_ATTR { nll[r] = set_gradient(row, exponential_of, whole, scale); };
    with_exponential_of_sum(row.logits, whole.exponentials.shift, finish);
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(cross_entropy_rows);
HWY_EXPORT(cross_entropy_gradient_rows);
HWY_EXPORT(cross_entropy_part_rows);
HWY_EXPORT(cross_entropy_gradient_of_parts_rows);

void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const Tensor& nll_R) {
  for_ranges(context, logits_RV.dim(0), logits_RV.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_rows)(logits_RV, labels_R, nll_R, begin, end);
  });
}

void cross_entropy_gradient(const Context& context, const Tensor& labels_R, double scale, const Tensor& nll_R,
                            const Tensor& logits_RV) {
  for_ranges(context, logits_RV.dim(0), logits_RV.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_gradient_rows)
    (labels_R, static_cast<float>(scale), nll_R, logits_RV, begin, end);
  });
}

void cross_entropy_partial(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                           DimShard columns, const Tensor& part_3R) {
  for_ranges(context, logits_RV.dim(0), logits_RV.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_part_rows)(logits_RV, labels_R, columns, part_3R, begin, end);
  });
}

void cross_entropy_gradient_from_partials(const Context& context, const Tensor& parts_N3R,
                                          const Tensor& labels_R, DimShard columns, double scale,
                                          const Tensor& nll_R, const Tensor& logits_RV) {
  for_ranges(context, logits_RV.dim(0), logits_RV.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_gradient_of_parts_rows)
    (parts_N3R, labels_R, columns, static_cast<float>(scale), nll_R, logits_RV, begin, end);
  });
}

}  // namespace dt::kernels::cpu
#endif
