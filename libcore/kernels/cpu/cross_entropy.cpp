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
inline constexpr std::int64_t softmax_run = 2048;

/// log Σ exp(x) = highest + log_sum; kept apart, since their sum would lose log_sum beside a huge highest.
struct LogSumExp {
  double highest, log_sum;
};

/// What one row needs beside its logits: a shift for each run, and room for V exponentials.
struct SoftmaxScratch {
  float* shifts;
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

/// Keeps nothing.
struct Discard {
  HWY_INLINE void operator()(std::int64_t, All, V) const {}
  HWY_INLINE void operator()(std::int64_t, First, V) const {}
};

/// Every run's exponentials are taken relative to `shift`, the highest logit so far,
/// and given to keep_exponential(i, lanes, e); its shift goes to keep_shift(run, shift). Runs are summed in
/// fp32 and their sums in double: the loss keeps digits that one fp32 sum over a vocabulary loses.
template <class T, class KeepExponential, class KeepShift>
HWY_INLINE LogSumExp log_sum_exp(const T* x, std::int64_t count, KeepExponential keep_exponential,
                                 KeepShift keep_shift) {
  float shift = std::numeric_limits<float>::lowest();  // finite, so that a run of −∞ adds 0
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += softmax_run) {
    const std::int64_t length = HWY_MIN(softmax_run, count - begin);
    const float before = shift;
    shift = highest_of(x + begin, length, shift);
    if (shift != before) sum *= std::exp(double{before} - double{shift});
    const V shift_vector = hn::Set(floats, shift);
    float totals[1];
    accumulate(length, totals, [=](std::int64_t i, auto lanes, V* sums) HWY_ATTR {
      // So that the next run's maximum does not wait for memory.
      __builtin_prefetch(x + begin + i + softmax_run);
      const V e = exponential(hn::Sub(load(lanes, x + begin + i), shift_vector));
      sums[0] = hn::Add(sums[0], keep(lanes, e, hn::Zero(floats)));
      keep_exponential(begin + i, lanes, e);
    });
    sum += totals[0];
    keep_shift(begin / softmax_run, shift);
  }
  return {shift, std::log(sum)};
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
      [=](std::int64_t run, float shift) { scratch.shifts[run] = shift; });
  for (std::int64_t begin = 0; begin < V_; begin += softmax_run) {
    const double share = std::exp(scratch.shifts[begin / softmax_run] - lse.highest - lse.log_sum);
    const V factor = hn::Set(floats, static_cast<float>(share * scale));
    for_lanes(HWY_MIN(softmax_run, V_ - begin), [=](std::int64_t i, auto lanes) HWY_ATTR {
      store(lanes, hn::Mul(load(lanes, e + begin + i), factor), logits + begin + i);
    });
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
      const LogSumExp lse = log_sum_exp(logits, V_, Discard(), [](std::int64_t, float) {});
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
  const std::int64_t V = logits_RV.dim(1), runs = (V + softmax_run - 1) / softmax_run;
  const Arena::Scope scope(context.scratch());
  const std::int64_t each = (V + runs + 15) / 16 * 16;  // floats for each thread, in cache lines of their own
  float* scratch = context.scratch().allocate(DType::f32, {context.threads(), each}).data<float>();
  for_ranges(context, logits_RV.dim(0), V, [&](std::int64_t begin, std::int64_t end) {
    float* own = scratch + omp_get_thread_num() * each;
    HWY_DYNAMIC_DISPATCH(cross_entropy_gradient_rows)
    (labels_R, static_cast<float>(scale), nll_R, logits_RV, {own + V, own}, begin, end);
  });
}

}  // namespace dt::kernels::cpu
#endif
