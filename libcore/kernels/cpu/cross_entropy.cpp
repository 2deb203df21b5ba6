#include "kernels/cross_entropy.hpp"

#include <cmath>
#include <limits>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/cross_entropy.cpp"
#include "kernels/cpu/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

float highest_of(const float* x, std::int64_t count) {
  const V lowest = hn::Set(floats, -std::numeric_limits<float>::infinity());
  V highest[2] = {lowest, lowest};
  std::int64_t i = 0;
  for (; i + 2 * num_lanes <= count; i += 2 * num_lanes) {
    highest[0] = hn::Max(highest[0], load(All{}, x + i));
    highest[1] = hn::Max(highest[1], load(All{}, x + i + num_lanes));
  }
  for_lanes(count - i, [&](std::int64_t j, auto lanes) HWY_ATTR {
    highest[0] = hn::Max(highest[0], keep(lanes, load(lanes, x + i + j), lowest));
  });
  return hn::GetLane(hn::MaxOfLanes(floats, hn::Max(highest[0], highest[1])));
}

/// Returns the highest value and sets log_sum = log Σ exp(x − highest). Short runs are summed in fp32 and the
/// runs in double: the loss keeps digits that one fp32 sum over a vocabulary loses.
float log_sum_exp(const float* x, std::int64_t count, double* log_sum) {
  constexpr std::int64_t run = 2048;
  const float highest = highest_of(x, count);
  const V shift = hn::Set(floats, highest);
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += run) {
    const float* p = x + begin;
    float totals[1];
    accumulate(HWY_MIN(run, count - begin), totals, [=](std::int64_t i, auto lanes, V* sums) HWY_ATTR {
      const V e = exponential(hn::Sub(load(lanes, p + i), shift));
      sums[0] = hn::Add(sums[0], keep(lanes, e, hn::Zero(floats)));
    });
    sum += totals[0];
  }
  *log_sum = std::log(sum);
  return highest;
}

void softmax_gradient(float* logits, std::int64_t count, float lse, std::int32_t label, float scale) {
  const V shift = hn::Set(floats, lse), factor = hn::Set(floats, scale);
  const float at_label = logits[label];
  for_lanes(count, [=](std::int64_t i, auto lanes) HWY_ATTR {
    const V p = exponential(hn::Sub(load(lanes, logits + i), shift));
    store(lanes, hn::Mul(p, factor), logits + i);
  });
  const V p = exponential(hn::Sub(hn::Set(floats, at_label), shift));
  logits[label] = (hn::GetLane(p) - 1) * scale;
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(log_sum_exp);
HWY_EXPORT(softmax_gradient);

void cross_entropy(const Context& context, const Tensor& logits_RV, const Tensor& labels_R,
                   const Tensor& nll_R, const Tensor& lse_R) {
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  const float* logits = logits_RV.data<float>();
  const std::int32_t* labels = labels_R.data<std::int32_t>();
  double* nll = nll_R.data<double>();
  float* lse = lse_R.data<float>();
  for_ranges(context, R, V, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      double log_sum;
      const double highest = HWY_DYNAMIC_DISPATCH(log_sum_exp)(logits + r * V, V, &log_sum);
      nll[r] = labels[r] < 0 ? 0 : highest - logits[r * V + labels[r]] + log_sum;
      lse[r] = static_cast<float>(highest + log_sum);
    }
  });
}

void cross_entropy_backward(const Context& context, const Tensor& labels_R, const Tensor& lse_R, double scale,
                            const Tensor& logits_RV) {
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1);
  const std::int32_t* labels = labels_R.data<std::int32_t>();
  const float* lse = lse_R.data<float>();
  float* logits = logits_RV.data<float>();
  const auto factor = static_cast<float>(scale);
  for_ranges(context, R, V, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      if (labels[r] < 0) {
        std::memset(logits + r * V, 0, static_cast<std::size_t>(V) * sizeof(float));
      } else {
        HWY_DYNAMIC_DISPATCH(softmax_gradient)(logits + r * V, V, lse[r], labels[r], factor);
      }
    }
  });
}

}  // namespace dt::kernels::cpu
#endif
