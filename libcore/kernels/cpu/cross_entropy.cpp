#include "kernels/cross_entropy.hpp"

#include <algorithm>
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

}  // namespace dt::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/cross_entropy.cpp"
#include "kernels/cpu/exponentials.hpp"

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

// The derivative of logits by what a cap takes.
struct Uncapped {
  HWY_INLINE V times_slope(V gradient, V) const { return gradient; }
};
struct Capped {
  V inverse;
  explicit Capped(double cap) : inverse(hn::Set(floats, static_cast<float>(1 / cap))) {}
  /// A logit may have been rounded beyond the cap; the slope is then 0.
  HWY_INLINE V times_slope(V gradient, V logit) const {
    const V tanh = hn::Mul(logit, inverse);
    return hn::Mul(gradient, at_least(0, hn::NegMulAdd(tanh, tanh, hn::Set(floats, 1))));
  }
};

/// Replaces logits by e · factor · slope. Meanwhile prefetches the row at `next`: all of a row of 16 bits,
/// half of one of fp32, which takes less computation per byte.
template <class T, class Exponential, class Cap>
HWY_INLINE void softmax_row(T* logits, std::int64_t count, const Exponential& exponential_of, float by,
                            const T* next, const Cap& cap) {
  const V factor = hn::Set(floats, by);
  const auto value = [&](V x) HWY_ATTR {
    const auto [power, rest] = exponential_of(x);
    return cap.times_slope(hn::Mul(hn::Mul(power, rest), factor), x);
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

void set_losses(const TokenLosses& losses, std::int64_t r, const PartialLoss& whole) {
  losses.nll_R.data<double>()[r] = whole.nll();
  if (losses.squared_lse_R) losses.squared_lse_R.data<double>()[r] = whole.exponentials.squared_log();
}
/// Does the same for a row without a target.
void set_no_losses(const TokenLosses& losses, std::int64_t r) {
  losses.nll_R.data<double>()[r] = 0;
  if (losses.squared_lse_R) losses.squared_lse_R.data<double>()[r] = 0;
}

/// Replaces the row by its gradient.
template <class T, class Exponential>
HWY_INLINE void set_gradient(const Row<T>& row, const Exponential& exponential_of, const PartialLoss& whole,
                             const LossGradient& gradient) {
  const auto scale = static_cast<float>(gradient.scale);
  const double of_softmax = whole.exponentials.softmax_factor(gradient.z_coefficient),
               factor = std::exp(-whole.exponentials.nll(exponential_of.shift)) * of_softmax * scale;
  double at_label = (std::exp(-whole.nll()) * of_softmax - 1) * scale;
  const auto set = [&](const auto& cap) HWY_ATTR {
    softmax_row(row.logits, row.count, exponential_of, static_cast<float>(factor), row.next, cap);
  };
  if (gradient.softcap == 0) {
    set(Uncapped());
  } else {
    const double tanh = whole.label_logit / gradient.softcap;
    at_label *= std::max(0.0, 1 - tanh * tanh);
    set(Capped(gradient.softcap));
  }
  if (row.label >= 0) row.logits[row.label] = T(static_cast<float>(at_label));
}

/// Writes the losses and the gradient of a row without a target.
template <class T>
void set_no_gradient(const Row<T>& row, const TokenLosses& losses, std::int64_t r) {
  set_no_losses(losses, r);
  std::fill_n(row.logits, row.count, T{});
}

void cross_entropy_rows(const Tensor& logits_RV, const Tensor& labels_R, const TokenLosses& losses,
                        std::int64_t begin, std::int64_t end) {
  for_rows(logits_RV, labels_R, {}, begin, end, [&](std::int64_t r, const auto& row) HWY_ATTR {
    if (!row.has_target) return set_no_losses(losses, r);
    with_exponentials(row.logits, row.count, [&](const auto&, const SumOfExponentials& all) {
      set_losses(losses, r, {all, row.at_label()});
    });
  });
}

void cross_entropy_gradient_rows(const Tensor& labels_R, const LossGradient& gradient,
                                 const TokenLosses& losses, const Tensor& logits_RV, std::int64_t begin,
                                 std::int64_t end) {
  for_rows(logits_RV, labels_R, {}, begin, end, [&](std::int64_t r, const auto& row) HWY_ATTR {
    if (!row.has_target) return set_no_gradient(row, losses, r);
    const auto finish = [&](const auto& exponential_of, const SumOfExponentials& all) HWY_ATTR {
      const PartialLoss whole{all, row.at_label()};
      set_losses(losses, r, whole);
      set_gradient(row, exponential_of, whole, gradient);
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
                                          const LossGradient& gradient, const TokenLosses& losses,
                                          const Tensor& logits_RV, std::int64_t begin, std::int64_t end) {
  const double* parts = parts_N3R.data<double>();
  const std::int64_t N = parts_N3R.dim(0), R = parts_N3R.dim(2);
  for_rows(logits_RV, labels_R, columns, begin, end, [&](std::int64_t r, const auto& row) HWY_ATTR {
    if (!row.has_target) return set_no_gradient(row, losses, r);
    const PartialLoss whole = combine_partial_losses(parts, N, R, r);
    set_losses(losses, r, whole);
    const auto finish = [&](const auto& exponential_of)
                            HWY_ATTR { set_gradient(row, exponential_of, whole, gradient); };
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
                   const TokenLosses& losses) {
  for_ranges(context, logits_RV.dim(0), logits_RV.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_rows)(logits_RV, labels_R, losses, begin, end);
  });
}

void cross_entropy_gradient(const Context& context, const Tensor& labels_R, const LossGradient& gradient,
                            const TokenLosses& losses, const Tensor& logits_RV) {
  for_ranges(context, logits_RV.dim(0), logits_RV.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_gradient_rows)
    (labels_R, gradient, losses, logits_RV, begin, end);
  });
}

void cross_entropy_partial(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                           DimShard columns, const Tensor& part_3R) {
  for_ranges(context, logits_RV.dim(0), logits_RV.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_part_rows)(logits_RV, labels_R, columns, part_3R, begin, end);
  });
}

void cross_entropy_gradient_from_partials(const Context& context, const Tensor& parts_N3R,
                                          const Tensor& labels_R, DimShard columns,
                                          const LossGradient& gradient, const TokenLosses& losses,
                                          const Tensor& logits_RV) {
  for_ranges(context, logits_RV.dim(0), logits_RV.dim(1), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_gradient_of_parts_rows)
    (parts_N3R, labels_R, columns, gradient, losses, logits_RV, begin, end);
  });
}

}  // namespace dt::kernels::cpu
#endif
