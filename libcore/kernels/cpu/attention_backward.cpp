// Flash attention's backward pass: per block of keys, queries stream by and their softmax is computed again
// from lse (Dao et al. 2022, algorithm 4).
#include <cmath>
#include <utility>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/attention_backward.cpp"
#include "kernels/cpu/attention_blocks.hpp"

#ifndef DT_KERNELS_CPU_ATTENTION_BACKWARD
#define DT_KERNELS_CPU_ATTENTION_BACKWARD
namespace dt::kernels::cpu {

/// One thread's scratch. Legend: S attention_block, P padded_dim, G query heads of a key-value head.
struct BackwardScratch {
  float* keys_DS;
  float* values_DS;
  float* keys_SP;  // scaled by 1/√D
  float* q_SP;     // scaled by 1/√D
  float* dy_SP;
  float* dk_SP;
  float* dv_SP;
  float* p_SS;
  float* dscore_SS;
  float* dy_y_GT;  // Σ over d of dy · y
};

struct AttentionGradients {
  const float* dy;
  const float* qkv;
  const float* y;
  const float* lse;
  float* dqkv;
};

}  // namespace dt::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

constexpr std::int64_t S = attention_block;

void dot_outputs(const AttentionHead& head, const AttentionGradients& g, float* dy_y_T) {
  for (std::int64_t t = 0; t < head.sequence; ++t) {
    const float* dy = g.dy + head.y + t * head.query;
    const float* y = g.y + head.y + t * head.query;
    float totals[1];
    accumulate(head.head_dim, totals, [=](std::int64_t d, auto lanes, V* sums) HWY_ATTR {
      sums[0] = hn::MulAdd(load(lanes, dy + d), load(lanes, y + d), sums[0]);
    });
    dy_y_T[t] = totals[0];
  }
}

/// p holds scores and dscore dp on entry: p = e^(score − lse), zero where masked; dscore = p · (dp − dy·y).
HWY_INLINE void softmax_block(const BackwardScratch& scratch, const float* lse, const float* dy_y,
                              std::int64_t rows, std::int64_t valid) {
  for (std::int64_t i = 0; i < rows; ++i) {
    float* p = scratch.p_SS + i * S;
    float* dscore = scratch.dscore_SS + i * S;
    const V shift = hn::Set(floats, lse[i]), mean = hn::Set(floats, dy_y[i]);
    for (std::int64_t j = 0; j < S; j += num_lanes) {
      V e = exponential(hn::Sub(hn::LoadU(floats, p + j), shift));
      if (valid < S) e = hn::IfThenElseZero(seen(valid + i, j), e);
      hn::StoreU(e, floats, p + j);
      hn::StoreU(hn::Mul(e, hn::Sub(hn::LoadU(floats, dscore + j), mean)), floats, dscore + j);
    }
  }
}

/// A block of queries of one head against the packed block of keys that starts at `key`.
void block_gradients(const AttentionHead& head, const AttentionGradients& g, const BackwardScratch& scratch,
                     const float* dy_y_T, std::int64_t first, std::int64_t key) {
  const std::int64_t D = head.head_dim, P = padded_dim(D);
  const std::int64_t rows = HWY_MIN(S, head.sequence - first), keys = HWY_MIN(S, head.sequence - key);
  const float scale = 1 / std::sqrt(static_cast<float>(D));
  const std::int64_t q = head.q + first * head.packed;
  pack_rows(g.qkv + q, head.packed, rows, D, scale, scratch.q_SP, P);
  pack_rows(g.dy + head.y + first * head.query, head.query, rows, D, 1, scratch.dy_SP, P);
  multiply_block(rows, S, D, {scratch.q_SP, P, 1}, scratch.keys_DS, S, scratch.p_SS, S, false);
  multiply_block(rows, S, D, {scratch.dy_SP, P, 1}, scratch.values_DS, S, scratch.dscore_SS, S, false);
  softmax_block(scratch, g.lse + head.lse + first, dy_y_T + first, rows, first - key + 1);
  multiply_block(keys, P, rows, {scratch.p_SS, 1, S}, scratch.dy_SP, P, scratch.dv_SP, P, true);
  multiply_block(keys, P, rows, {scratch.dscore_SS, 1, S}, scratch.q_SP, P, scratch.dk_SP, P, true);
  // The first block of keys is seen by all queries, so it starts their sums.
  multiply_block(rows, D, keys, {scratch.dscore_SS, S, 1}, scratch.keys_SP, P, g.dqkv + q, head.packed,
                 key > 0);
}

/// All of one key-value head: its query heads are `group` from h on.
void attention_group_backward(const AttentionShape& shape, std::int64_t b, std::int64_t h, std::int64_t group,
                              const AttentionGradients& g, const BackwardScratch& scratch) {
  const AttentionHead kv(shape, b, h);
  const std::int64_t T = kv.sequence, D = kv.head_dim, P = padded_dim(D);
  const auto block_bytes = static_cast<std::size_t>(S * P) * sizeof(float);
  for (std::int64_t i = 0; i < group; ++i)
    dot_outputs(AttentionHead(shape, b, h + i), g, scratch.dy_y_GT + i * T);
  for (std::int64_t key = 0; key < T; key += S) {
    const std::int64_t keys = HWY_MIN(S, T - key);
    const float* k = g.qkv + kv.k + key * kv.packed;
    pack_transposed(k, kv.packed, keys, D, scratch.keys_DS);
    pack_transposed(g.qkv + kv.v + key * kv.packed, kv.packed, keys, D, scratch.values_DS);
    pack_rows(k, kv.packed, keys, D, 1 / std::sqrt(static_cast<float>(D)), scratch.keys_SP, P);
    std::memset(scratch.dk_SP, 0, block_bytes);
    std::memset(scratch.dv_SP, 0, block_bytes);
    for (std::int64_t i = 0; i < group; ++i) {
      const AttentionHead head(shape, b, h + i);
      for (std::int64_t first = key; first < T; first += S) {
        block_gradients(head, g, scratch, scratch.dy_y_GT + i * T, first, key);
      }
    }
    for (std::int64_t j = 0; j < keys; ++j) {
      float* row = g.dqkv + (key + j) * kv.packed;
      std::memcpy(row + kv.k, scratch.dk_SP + j * P, static_cast<std::size_t>(D) * sizeof(float));
      std::memcpy(row + kv.v, scratch.dv_SP + j * P, static_cast<std::size_t>(D) * sizeof(float));
    }
  }
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(attention_group_backward);

// A key-value head is one thread's: its gradients sum over its query heads in a fixed order.
void attention_backward(const Context& context, const AttentionShape& shape, const Tensor&,
                        const Tensor& dy_RQ, const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse_BHT,
                        const Tensor& dqkv_RE) {
  constexpr std::int64_t block = attention_block;
  const std::int64_t K = shape.key_value_heads, group = shape.query_heads / K;
  const std::int64_t D = shape.head_dim, P = padded_dim(D);
  const std::int64_t thread_floats =
      block * (2 * D + 5 * P + 2 * block) + (group * shape.sequence + 15) / 16 * 16;
  const Arena::Scope scope(context.scratch());
  float* memory = context.scratch().allocate(DType::f32, {context.threads(), thread_floats}).data<float>();
  const AttentionGradients gradients{dy_RQ.data<float>(), qkv_RE.data<float>(), y_RQ.data<float>(),
                                     lse_BHT.data<float>(), dqkv_RE.data<float>()};
  for_jobs(context, shape.batch * K, [&](std::int64_t job, int thread) {
    float* next = memory + thread * thread_floats;
    const auto take = [&](std::int64_t floats) { return std::exchange(next, next + floats); };
    const BackwardScratch scratch{.keys_DS = take(block * D),
                                  .values_DS = take(block * D),
                                  .keys_SP = take(block * P),
                                  .q_SP = take(block * P),
                                  .dy_SP = take(block * P),
                                  .dk_SP = take(block * P),
                                  .dv_SP = take(block * P),
                                  .p_SS = take(block * block),
                                  .dscore_SS = take(block * block),
                                  .dy_y_GT = take(group * shape.sequence)};
    HWY_DYNAMIC_DISPATCH(attention_group_backward)
    (shape, job / K, job % K * group, group, gradients, scratch);
  });
}

}  // namespace dt::kernels::cpu
#endif
