#include "kernels/cross_entropy.hpp"

#include <cmath>
#include <limits>
#include <omp.h>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"

#ifndef DT_KERNELS_CPU_CROSS_ENTROPY_RUN
#define DT_KERNELS_CPU_CROSS_ENTROPY_RUN
namespace dt::kernels::cpu {

/// A row is taken in runs of this many logits: from memory for their maximum, from the nearest cache for
/// their exponentials.
template <class T>
inline constexpr std::int64_t softmax_run = 8192 / sizeof(T);

/// log Σ exp(x) = highest + log_sum; kept apart, since their sum would lose log_sum beside a huge highest.
struct LogSumExp {
  double highest, log_sum;
};

/// What one row needs beside its logits: a shift for each run, and room for V exponentials.
struct SoftmaxScratch {
  double* shifts;
  float* exponentials;
};

}  // namespace dt::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/cross_entropy.cpp"
#include "kernels/cpu/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// The highest of x and `least`.
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

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
/// Without widening: as integers, numbers above zero are in order, and those below it in the reverse one. So
/// of each lane the greatest signed integer is its highest number, or else the least unsigned one is.
HWY_INLINE float highest_of(const BFloat16* x, std::int64_t count, float least) {
  constexpr hn::Repartition<std::int16_t, Floats> signed_bits;
  constexpr hn::Repartition<std::uint16_t, Floats> unsigned_bits;
  constexpr hn::RebindToUnsigned<Floats> words;
  constexpr std::uint16_t minus_infinity = 0xff80;
  auto greatest = hn::BitCast(signed_bits, hn::Set(unsigned_bits, minus_infinity));
  auto smallest = hn::Set(unsigned_bits, minus_infinity);
  std::int64_t i = 0;
  for (; i + 2 * num_lanes <= count; i += 2 * num_lanes) {
    const auto bits = hn::LoadU(unsigned_bits, &x[i].bits);
    greatest = hn::Max(greatest, hn::BitCast(signed_bits, bits));
    smallest = hn::Min(smallest, bits);
  }
  V highest[4];
  highest[0] = even_of(hn::BitCast(words, greatest)), highest[1] = odd_of(hn::BitCast(words, greatest));
  highest[2] = even_of(hn::BitCast(words, smallest)), highest[3] = odd_of(hn::BitCast(words, smallest));
  const V lowest = hn::Set(floats, least);
  for_lanes(count - i, [&](std::int64_t j, auto lanes) HWY_ATTR {
    highest[0] = hn::Max(highest[0], keep(lanes, load(lanes, x + i + j), lowest));
  });
  for (V& v : highest) v = hn::IfThenElse(hn::IsNaN(v), lowest, v);
  const V pairs = hn::Max(hn::Max(highest[0], highest[1]), hn::Max(highest[2], highest[3]));
  return hn::GetLane(hn::MaxOfLanes(floats, hn::Max(pairs, lowest)));
}
#endif

constexpr float log2_e = 1.44269504f;

/// 2^x with a relative error of at most 3e-6, which is enough beside logits of 16 bits; beyond 2^127 it is
/// about that or infinite; NaN stays. With n = ⌊x⌋, f = x − n: 2^x = 2ⁿ · 2^f, and 2^f is the polynomial of
/// degree 4 with the least relative error on [0, 1).
HWY_INLINE V rough_power_of_two(V x) {
  const auto c = [](float value) HWY_ATTR { return hn::Set(floats, value); };
#if HWY_TARGET == HWY_AVX3
  const V f{_mm512_reduce_ps(x.raw, 1)};  // x − ⌊x⌋
#else
  x = at_most(127, x);
  const V n = hn::Floor(x);
  const V f = hn::Sub(x, n);
#endif
  V p = hn::MulAdd(f, c(1.35341679e-2f), c(5.20114606e-2f));
  p = hn::MulAdd(f, p, c(2.41442757e-1f));
  p = hn::MulAdd(f, p, c(6.93003834e-1f));
  p = hn::MulAdd(f, p, c(1.00000259f));
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_scalef_ps(p.raw, x.raw)};
#else
  constexpr hn::RebindToSigned<Floats> integers;
  const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(integers, n));
  const V power = hn::BitCast(floats, hn::Add(exponent, hn::BitCast(integers, c(1))));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenZeroElse(hn::Lt(x, c(-126)), hn::Mul(p, power)));
#endif
}

/// e^(x − shift), accurately.
struct FromShift {
  V shift;
  explicit FromShift(float highest) : shift(hn::Set(floats, highest)) {}
  HWY_INLINE V operator()(V x) const { return exponential(hn::Sub(x, shift)); }
};

/// The same in half as many operations, for logits of 16 bits: 2^(x log₂e − s) with s rounded to fp32. What
/// that makes of the shift is known, so no digits are lost.
struct RoughlyFromShift {
  V minus_s;
  // Beyond it rounding s would be a factor that could overflow; without a fused multiply-add x log₂e is
  // rounded, too.
  static constexpr float most = HWY_TARGET == HWY_SCALAR ? 64 : 1 << 20;
  static double shift_of(float highest) { return double{highest * log2_e} / double{log2_e}; }
  explicit RoughlyFromShift(float highest) : minus_s(hn::Set(floats, -(highest * log2_e))) {}
  HWY_INLINE V operator()(V x) const {
    return rough_power_of_two(hn::MulAdd(x, hn::Set(floats, log2_e), minus_s));
  }
};

/// Keeps nothing.
struct Discard {
  HWY_INLINE void operator()(std::int64_t, All, V) const {}
  HWY_INLINE void operator()(std::int64_t, First, V) const {}
};

/// The sum of a run's exponentials, each vector of which is given to keep_exponential(i, lanes, e).
template <class T, class Exponential, class KeepExponential>
HWY_INLINE float sum_run(const T* x, std::int64_t count, Exponential exponential_of,
                         KeepExponential keep_exponential) {
  V sums[4] = {hn::Zero(floats), hn::Zero(floats), hn::Zero(floats), hn::Zero(floats)};
  std::int64_t i = 0;
  for (; i + 4 * num_lanes <= count; i += 4 * num_lanes) {
    V v[4];
    v[0] = load(OneOfTwo{}, x + i), v[1] = load(OtherOfTwo{}, x + i);
    v[2] = load(OneOfTwo{}, x + i + 2 * num_lanes), v[3] = load(OtherOfTwo{}, x + i + 2 * num_lanes);
    for (std::int64_t byte = 0; byte < 4 * num_lanes * static_cast<std::int64_t>(sizeof(T)); byte += 64) {
      // So that the maximum of a run to come does not wait for memory.
      __builtin_prefetch(reinterpret_cast<const std::byte*>(x + i + 2 * softmax_run<T>) + byte, 0, 2);
    }
    for (int n = 0; n < 4; ++n) {
      const V e = exponential_of(v[n]);
      sums[n] = hn::Add(sums[n], e);
      keep_exponential(i + n * num_lanes, All{}, e);
    }
  }
  for_lanes(count - i, [&](std::int64_t j, auto lanes) HWY_ATTR {
    const V e = exponential_of(load(lanes, x + i + j));
    sums[0] = hn::Add(sums[0], keep(lanes, e, hn::Zero(floats)));
    keep_exponential(i + j, lanes, e);
  });
  const V total = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(floats, total));
}

/// Every run's exponentials are taken relative to a shift, and given to keep_exponential(i, lanes, e); its
/// shift goes to keep_shift(run, shift). Runs are summed in fp32 and their sums in double: the loss keeps
/// digits that one fp32 sum over a vocabulary loses.
///
/// The shift is about the highest logit so far, or, of 16 bits, of the first run: looking for the highest of
/// each run would cost a fifth of the time, and is needed only where the sum shows that some are much higher.
template <class T, class KeepExponential, class KeepShift>
HWY_INLINE LogSumExp log_sum_exp(const T* x, std::int64_t count, KeepExponential keep_exponential,
                                 KeepShift keep_shift) {
  constexpr float most_of_run = 0x1p60f;
  float highest = std::numeric_limits<float>::lowest();  // finite, so that a run of −∞ adds 0
  double shift = double{highest}, sum = 0;
  bool is_rough = false;
  for (std::int64_t begin = 0; begin < count; begin += softmax_run<T>) {
    const std::int64_t length = HWY_MIN(softmax_run<T>, count - begin);
    const auto raise = [&]() HWY_ATTR {
      const double before = shift;
      highest = highest_of(x + begin, length, highest);
      is_rough = !std::same_as<T, float> && std::abs(highest) < RoughlyFromShift::most;
      shift = is_rough ? RoughlyFromShift::shift_of(highest) : double{highest};
      if (shift != before) sum *= std::exp(before - shift);
    };
    const auto sum_of_run = [&]() HWY_ATTR {
      const auto keep_in_row = [=](std::int64_t i, auto lanes, V e)
                                   HWY_ATTR { keep_exponential(begin + i, lanes, e); };
      return is_rough ? sum_run(x + begin, length, RoughlyFromShift(highest), keep_in_row)
                      : sum_run(x + begin, length, FromShift(highest), keep_in_row);
    };
    const bool was_rough = is_rough;
    if (!was_rough) raise();
    float total = sum_of_run();
    if (was_rough && !(total <= most_of_run)) {
      raise();
      total = sum_of_run();
    }
    sum += double{total};
    keep_shift(begin / softmax_run<T>, shift);
  }
  return {shift, std::log(sum)};
}

/// logits = e · factor, of exponentials in the order in which sum_run gives them.
template <class T>
HWY_INLINE void scale_run(const float* e, std::int64_t count, float by, T* logits) {
  const V factor = hn::Set(floats, by);
  std::int64_t i = 0;
  for (; i + 4 * num_lanes <= count; i += 4 * num_lanes) {
    for (std::int64_t j = i; j < i + 4 * num_lanes; j += 2 * num_lanes) {
      store_two(hn::Mul(load(All{}, e + j), factor), hn::Mul(load(All{}, e + j + num_lanes), factor),
                logits + j);
    }
  }
  for_lanes(count - i, [=](std::int64_t j, auto lanes) HWY_ATTR {
    store(lanes, hn::Mul(load(lanes, e + i + j), factor), logits + i + j);
  });
}

/// Returns the row's nll and turns its logits into their gradient.
template <class T>
double loss_gradient_row(T* logits, std::int64_t V_, std::int32_t label, float scale,
                         SoftmaxScratch scratch) {
  float* e = scratch.exponentials;
  if constexpr (std::same_as<T, float>) e = logits;
  const double at_label{static_cast<float>(logits[label])};
  const LogSumExp lse = log_sum_exp(
      logits, V_, [=](std::int64_t i, auto lanes, V v) HWY_ATTR { store(lanes, v, e + i); },
      [=](std::int64_t run, double shift) { scratch.shifts[run] = shift; });
  for (std::int64_t begin = 0; begin < V_; begin += softmax_run<T>) {
    const double share = std::exp(scratch.shifts[begin / softmax_run<T>] - lse.highest - lse.log_sum);
    scale_run(e + begin, HWY_MIN(softmax_run<T>, V_ - begin), static_cast<float>(share * scale),
              logits + begin);
  }
  logits[label] = T(static_cast<float>((std::exp(at_label - lse.highest - lse.log_sum) - 1) * scale));
  return lse.highest - at_label + lse.log_sum;
}

void cross_entropy_rows(const Tensor& logits_RV, const Tensor& labels_R, const Tensor& nll_R,
                        std::int64_t begin, std::int64_t end) {
  const std::int64_t V_ = logits_RV.dim(1);
  const std::int32_t* labels = labels_R.data<std::int32_t>();
  double* nll = nll_R.data<double>();
  with_elements(logits_RV.dtype(), [&](auto element) HWY_ATTR {
    for (std::int64_t r = begin; r < end; ++r) {
      const auto* logits = logits_RV.data<decltype(element)>() + r * V_;
      nll[r] = 0;
      if (labels[r] < 0) continue;
      const LogSumExp lse = log_sum_exp(logits, V_, Discard(), [](std::int64_t, double) {});
      nll[r] = lse.highest - double{static_cast<float>(logits[labels[r]])} + lse.log_sum;
    }
  });
}

void cross_entropy_gradient_rows(const Tensor& labels_R, float scale, const Tensor& nll_R,
                                 const Tensor& logits_RV, SoftmaxScratch scratch, std::int64_t begin,
                                 std::int64_t end) {
  const std::int64_t V_ = logits_RV.dim(1);
  const std::int32_t* labels = labels_R.data<std::int32_t>();
  double* nll = nll_R.data<double>();
  with_elements(logits_RV.dtype(), [&](auto element) HWY_ATTR {
    for (std::int64_t r = begin; r < end; ++r) {
      auto* logits = logits_RV.data<decltype(element)>() + r * V_;
      if (labels[r] < 0) {
        nll[r] = 0;
        std::memset(logits, 0, static_cast<std::size_t>(V_) * sizeof(element));
      } else {
        nll[r] = loss_gradient_row(logits, V_, labels[r], scale, scratch);
      }
    }
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(cross_entropy_rows);
HWY_EXPORT(cross_entropy_gradient_rows);

void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const Tensor& nll_R) {
  for_ranges(context, logits_RV.dim(0), logits_RV.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_rows)(logits_RV, labels_R, nll_R, begin, end);
  });
}

void cross_entropy_gradient(const Context& context, const Tensor& labels_R, double scale, const Tensor& nll_R,
                            const Tensor& logits_RV) {
  const std::int64_t V = logits_RV.dim(1),
                     runs = (V + softmax_run<float> - 1) / softmax_run<float>;  // at most
  const Arena::Scope scope(context.scratch());
  const Tensor exponentials = context.scratch().allocate(DType::f32, {context.threads(), V});
  const Tensor shifts = context.scratch().allocate(DType::f64, {context.threads(), runs});
  for_ranges(context, logits_RV.dim(0), V, [&](std::int64_t begin, std::int64_t end) {
    const int thread = omp_get_thread_num();
    HWY_DYNAMIC_DISPATCH(cross_entropy_gradient_rows)
    (labels_R, static_cast<float>(scale), nll_R, logits_RV,
     {shifts.data<double>() + thread * runs, exponentials.data<float>() + thread * V}, begin, end);
  });
}

}  // namespace dt::kernels::cpu
#endif
