// Flash attention's forward pass: per block of queries, keys and values stream by while a running maximum and
// sum are kept (Dao et al. 2022, algorithm 1).
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"

#define HWY_TARGET_INCLUDE "kernels/cpu/attention_forward.cpp"
#include "kernels/cpu/attention_blocks.hpp"

#ifndef DT_KERNELS_CPU_ATTENTION_FORWARD
#define DT_KERNELS_CPU_ATTENTION_FORWARD
namespace dt::kernels::cpu {

/// One thread's scratch. Legend: N key blocks, S attention_block, P padded_dim.
struct ForwardScratch {
  float* keys_NDS;
  float* values_TP;
  float* q_SP;  // scaled by 1/√D
  float* scores_SS;
  float* y_SP;
  float highest_S[attention_block];
  float rescale_S[attention_block];
  float sum_S[attention_block];
};

}  // namespace dt::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace dt::kernels::cpu::HWY_NAMESPACE {

constexpr std::int64_t S = attention_block;

void pack_keys_and_values(const AttentionHead& head, const float* qkv, const ForwardScratch& scratch) {
  const std::int64_t D = head.head_dim;
  for (std::int64_t first = 0; first < head.sequence; first += S) {
    const std::int64_t rows = HWY_MIN(S, head.sequence - first);
    pack_transposed(qkv + head.k + first * head.packed, head.packed, rows, D, scratch.keys_NDS + first * D);
  }
  pack_rows(qkv + head.v, head.packed, head.sequence, D, 1, scratch.values_TP, padded_dim(D));
}

/// Raises the running maxima to those of the new scores; rescale = e^(old − new). Row i sees `valid + i`
/// keys.
HWY_INLINE void raise_highest(ForwardScratch& scratch, std::int64_t rows, std::int64_t valid) {
  const V lowest = hn::Set(floats, -std::numeric_limits<float>::infinity());
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* score = scratch.scores_SS + i * S;
    V highest = lowest;
    if (valid >= S) {
      for (std::int64_t j = 0; j < S; j += num_lanes)
        highest = hn::Max(highest, hn::LoadU(floats, score + j));
    } else {
      for (std::int64_t j = 0; j < S; j += num_lanes) {
        highest = hn::Max(highest, hn::IfThenElse(seen(valid + i, j), hn::LoadU(floats, score + j), lowest));
      }
    }
    const float before = scratch.highest_S[i];
    const float block = hn::GetLane(hn::MaxOfLanes(floats, highest));
    scratch.highest_S[i] = block > before ? block : before;
    scratch.rescale_S[i] = before - scratch.highest_S[i];
  }
  for (std::int64_t i = 0; i < S; i += num_lanes) {
    hn::StoreU(exponential(hn::LoadU(floats, scratch.rescale_S + i)), floats, scratch.rescale_S + i);
  }
}

/// Turns scores into e^(score − maximum), zero where masked; brings sums and y to the new maxima.
HWY_INLINE void exponentiate(ForwardScratch& scratch, std::int64_t rows, std::int64_t valid, std::int64_t P) {
  for (std::int64_t i = 0; i < rows; ++i) {
    float* score = scratch.scores_SS + i * S;
    const V shift = hn::Set(floats, scratch.highest_S[i]);
    V sum = hn::Zero(floats);
    for (std::int64_t j = 0; j < S; j += num_lanes) {
      V e = exponential(hn::Sub(hn::LoadU(floats, score + j), shift));
      if (valid < S) e = hn::IfThenElseZero(seen(valid + i, j), e);
      hn::StoreU(e, floats, score + j);
      sum = hn::Add(sum, e);
    }
    const float rescale = scratch.rescale_S[i];
    scratch.sum_S[i] = scratch.sum_S[i] * rescale + hn::GetLane(hn::SumOfLanes(floats, sum));
    if (rescale == 1) continue;
    float* y = scratch.y_SP + i * P;
    for (std::int64_t d = 0; d < P; d += num_lanes) {
      hn::StoreU(hn::Mul(hn::LoadU(floats, y + d), hn::Set(floats, rescale)), floats, y + d);
    }
  }
}

void attend_block(const AttentionHead& head, ForwardScratch& scratch, std::int64_t first, std::int64_t rows) {
  const std::int64_t D = head.head_dim, P = padded_dim(D);
  for (std::int64_t i = 0; i < S; ++i) {
    scratch.highest_S[i] = -std::numeric_limits<float>::infinity();
    scratch.sum_S[i] = scratch.rescale_S[i] = 0;
  }
  std::memset(scratch.y_SP, 0, static_cast<std::size_t>(S * P) * sizeof(float));
  for (std::int64_t key = 0; key <= first; key += S) {  // later blocks are masked as a whole
    const std::int64_t keys = HWY_MIN(S, head.sequence - key);
    const std::int64_t valid = first - key + 1;  // what the block's first query sees
    multiply_block(rows, S, D, {scratch.q_SP, P, 1}, scratch.keys_NDS + key * D, S, scratch.scores_SS, S,
                   false);
    raise_highest(scratch, rows, valid);
    exponentiate(scratch, rows, valid, P);
    multiply_block(rows, P, keys, {scratch.scores_SS, S, 1}, scratch.values_TP + key * P, P, scratch.y_SP, P,
                   true);
  }
}

void attention_head(const AttentionHead& head, const float* qkv, float* y, float* lse,
                    ForwardScratch& scratch) {
  const std::int64_t D = head.head_dim, P = padded_dim(D);
  const float scale = 1 / std::sqrt(static_cast<float>(D));
  pack_keys_and_values(head, qkv, scratch);
  for (std::int64_t first = 0; first < head.sequence; first += S) {
    const std::int64_t rows = HWY_MIN(S, head.sequence - first);
    pack_rows(qkv + head.q + first * head.packed, head.packed, rows, D, scale, scratch.q_SP, P);
    attend_block(head, scratch, first, rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      pack_rows(scratch.y_SP + i * P, P, 1, D, 1 / scratch.sum_S[i], y + head.y + (first + i) * head.query,
                D);
      lse[head.lse + first + i] = scratch.highest_S[i] + std::log(scratch.sum_S[i]);
    }
  }
}

}  // namespace dt::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::kernels::cpu {

HWY_EXPORT(attention_head);

void attention(const Context& context, const AttentionShape& shape, const Tensor&, const Tensor& qkv_RE,
               const Tensor& y_RQ, const Tensor& lse_BHT) {
  constexpr std::int64_t block = attention_block;
  const std::int64_t H = shape.query_heads, D = shape.head_dim, P = padded_dim(D);
  const std::int64_t padded_sequence = (shape.sequence + block - 1) / block * block;
  const std::int64_t thread_floats = padded_sequence * (D + P) + block * (block + 2 * P);
  const Arena::Scope scope(context.scratch());
  float* memory = context.scratch().allocate(DType::f32, {context.threads(), thread_floats}).data<float>();
  const float* qkv = qkv_RE.data<float>();
  float* y = y_RQ.data<float>();
  float* lse = lse_BHT.data<float>();
  for_jobs(context, shape.batch * H, [&](std::int64_t job, int thread) {
    float* next = memory + thread * thread_floats;
    const auto take = [&](std::int64_t floats) { return std::exchange(next, next + floats); };
    ForwardScratch scratch;
    scratch.values_TP = take(padded_sequence * P);
    scratch.q_SP = take(block * P);
    scratch.y_SP = take(block * P);
    scratch.scores_SS = take(block * block);
    scratch.keys_NDS = take(padded_sequence * D);
    HWY_DYNAMIC_DISPATCH(attention_head)(AttentionHead(shape, job / H, job % H), qkv, y, lse, scratch);
  });
}

}  // namespace dt::kernels::cpu
#endif
