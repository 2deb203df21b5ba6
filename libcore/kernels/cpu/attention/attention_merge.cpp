// Merges two parts of an attention.
#include <cmath>
#include <limits>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/simd/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention_merge.cpp"
#include "kernels/cpu/simd/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

/// The factors of both parts' y, and the lse of the whole.
struct MergeWeights {
  float a, b, lse;
};
inline MergeWeights merge_weights(float lse_a, float lse_b) {
  const float highest = std::max(lse_a, lse_b);
  if (highest == -std::numeric_limits<float>::infinity()) return {0, 0, highest};
  const float a = std::exp(lse_a - highest), b = std::exp(lse_b - highest), sum = a + b;
  return {a / sum, b / sum, highest + std::log(sum)};
}

template <class T>
void merge_head(const MergeWeights& weights, const float* a, const float* b, std::int64_t D, T* y) {
  const V weight_a = hn::Set(floats, weights.a), weight_b = hn::Set(floats, weights.b);
  for_lanes(D, [=](std::int64_t d, auto lanes) HWY_ATTR {
    const V of_b = hn::Mul(weight_b, load(lanes, b + d));
    store(lanes, hn::MulAdd(weight_a, load(lanes, a + d), of_b), y + d);
  });
}

void merge_attention(const Context& context, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to) {
  const std::int64_t H = shape.query_heads, T = shape.sequence, D = shape.head_dim;
  with_elements(to.y_RQ.dtype(), [&](auto element) {
    auto* y = to.y_RQ.data<decltype(element)>();
    for_ranges(context, shape.batch * T, H * D, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * H; i < end * H; ++i) {
        const std::int64_t r = i / H, lse = (r / T * H + i % H) * T + r % T;
        const MergeWeights weights =
            merge_weights(a.lse_BHT.data<float>()[lse], b.lse_BHT.data<float>()[lse]);
        merge_head(weights, a.y_RQ.data<float>() + i * D, b.y_RQ.data<float>() + i * D, D, y + i * D);
        to.lse_BHT.data<float>()[lse] = weights.lse;
      }
    });
  });
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(merge_attention);

void merge_attention(const Context& context, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to) {
  HWY_DYNAMIC_DISPATCH(merge_attention)(context, shape, a, b, to);
}

}  // namespace dt::kernels::cpu
#endif
