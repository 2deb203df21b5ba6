#include "model/layers/ring_attention.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"

namespace dt::model {

RingAttention::RingAttention(const TensorParallelOps& ops, const kernels::AttentionShape& shape,
                             const Tensor& first_R, std::optional<std::int64_t> window)
    : ops_(ops),
      shape_(shape),
      chunk_shape_(shape),
      first_R_(first_R),
      window_(window),
      chunk_rows_(shape.batch * shape.sequence / Zigzag::num_chunks),
      query_features_(shape.query_heads * shape.head_dim),
      key_value_features_(2 * shape.key_value_heads * shape.head_dim) {
  DT_CHECK(shape.sequence % Zigzag::num_chunks == 0, "{} positions in two chunks", shape.sequence);
  chunk_shape_.sequence = shape.sequence / Zigzag::num_chunks;
}

std::size_t RingAttention::scratch_bytes(const kernels::AttentionShape& shape, DType dtype) {
  const auto rows = static_cast<std::size_t>(shape.batch * shape.sequence),
             q = static_cast<std::size_t>(shape.query_heads * shape.head_dim),
             kv = static_cast<std::size_t>(2 * shape.key_value_heads * shape.head_dim),
             heads = static_cast<std::size_t>(shape.query_heads), sum = dtype_bytes(statistics_dtype(dtype));
  const std::size_t part = (q + heads) * sum / Zigzag::num_chunks;  // one query chunk, before it is merged
  return rows * (2 * kv * dtype_bytes(dtype) + q * sum + std::max(3 * kv * sum, part));
}

int RingAttention::previous_rank(int rank, int steps) const {
  const int size = ops_.shard().context_size;
  return (rank + size - steps) % size;
}

Tensor RingAttention::rows(const Tensor& all, int chunk) const {
  return all.rows(chunk * chunk_rows_, (chunk + 1) * chunk_rows_);
}

Tensor RingAttention::lse_chunk(const Tensor& lse, int chunk) const {
  const std::int64_t count = lse.numel() / Zigzag::num_chunks;
  return lse.flat(chunk * count, count)
      .reshaped({chunk_shape_.batch, chunk_shape_.query_heads, chunk_shape_.sequence});
}

kernels::Visibility RingAttention::visibility(int query_chunk, const Block& block, int key_chunk) const {
  return {first_R_ ? rows(first_R_, query_chunk) : Tensor(),
          zigzag_of(ops_.shard().context_rank).position(query_chunk),
          zigzag_of(block.owner).position(key_chunk)};
}

std::int64_t RingAttention::first_in_sight(int query_chunk) const {
  const std::int64_t position = zigzag_of(ops_.shard().context_rank).position(query_chunk);
  return window_ ? std::max<std::int64_t>(0, position - *window_ + 1) : 0;
}

bool RingAttention::sees(int query_chunk, const Block& block, int key_chunk) const {
  const std::int64_t keys = zigzag_of(block.owner).position(key_chunk);
  return keys <= zigzag_of(ops_.shard().context_rank).position(query_chunk) &&
         keys + chunk_shape_.sequence > first_in_sight(query_chunk);
}

std::int64_t RingAttention::num_chunks_seen(int query_chunk) const {
  const std::int64_t chunk = chunk_shape_.sequence;
  return zigzag_of(ops_.shard().context_rank).position(query_chunk) / chunk -
         first_in_sight(query_chunk) / chunk + 1;
}

kernels::QueriesKeysValues RingAttention::operands(const Tensor& q, const Tensor& kv, int query_chunk,
                                                   int key_chunk) const {
  const Tensor keys = rows(kv, key_chunk);
  return {{rows(q, query_chunk), 0}, {keys, 0}, {keys, key_value_features_ / 2}};
}

Tensor RingAttention::keys_and_values(const Context& context, const Tensor& qkv_RE) const {
  const Tensor kv = context.scratch().allocate(qkv_RE.dtype(), {qkv_RE.dim(0), key_value_features_});
  kernels::cast_columns(context, {qkv_RE, query_features_}, {kv}, key_value_features_);
  return kv;
}

template <class Body>
void RingAttention::for_blocks(const Context& context, const Tensor& own_kv, const Body& body) const {
  const TensorParallelShard& shard = ops_.shard();
  const std::array memory{own_kv, context.scratch().allocate(own_kv.dtype(), own_kv.shape())};
  for (int step = 0; step < shard.context_size; ++step) {
    const bool is_last = step + 1 == shard.context_size;
    const Tensor& held = memory[static_cast<std::size_t>(step % 2)];
    const Tensor& arriving = memory[static_cast<std::size_t>((step + 1) % 2)];
    const PendingCollectiveHandle shift =
        is_last ? PendingCollectiveHandle() : ops_.start_ring_shift(held, arriving);
    body(Block{held, previous_rank(shard.context_rank, step)});
    wait(context, shift);
  }
}

/// Adds to `sums` what the rank's queries see of a block. Writes a query chunk's y after its last
/// key chunk.
void RingAttention::attend(const Context& context, const Tensor& qkv_RE, const Block& block,
                           PartialResult& sums, const Tensor& y_RQ) const {
  for (int chunk = 0; chunk < Zigzag::num_chunks; ++chunk) {
    const std::int64_t all = num_chunks_seen(chunk);
    for (int key_chunk = 0; key_chunk < Zigzag::num_chunks; ++key_chunk) {
      if (!sees(chunk, block, key_chunk)) continue;
      const Arena::Scope scope(context.scratch());
      const kernels::PartialAttention before{rows(sums.y_RQ, chunk), lse_chunk(sums.lse_BHT, chunk)};
      const bool is_first = sums.num_seen[chunk]++ == 0, is_last = sums.num_seen[chunk] == all;
      const kernels::PartialAttention after{is_last ? rows(y_RQ, chunk) : before.y_RQ, before.lse_BHT};
      kernels::PartialAttention part = after;
      if (!is_first) {
        part.y_RQ = context.scratch().allocate(before.y_RQ.dtype(), before.y_RQ.shape());
        part.lse_BHT = context.scratch().allocate(before.lse_BHT.dtype(), before.lse_BHT.shape());
      }
      kernels::attention(context, chunk_shape_, visibility(chunk, block, key_chunk),
                         operands(qkv_RE, block.kv, chunk, key_chunk), part.y_RQ, part.lse_BHT,
                         sums.max_scores_H);
      if (!is_first) kernels::merge_attention(context, chunk_shape_, before, part, after);
    }
  }
}

void RingAttention::forward(const Context& context, const Tensor& qkv_RE, const Tensor& y_RQ,
                            const Tensor& lse, const Tensor& max_scores_H) const {
  const Arena::Scope scope(context.scratch());
  const bool is_exact = y_RQ.dtype() == lse.dtype();
  PartialResult sums{is_exact ? y_RQ : context.scratch().allocate(lse.dtype(), y_RQ.shape()), lse,
                     max_scores_H};
  for_blocks(context, keys_and_values(context, qkv_RE),
             [&](const Block& block) { attend(context, qkv_RE, block, sums, y_RQ); });
}

/// Adds to dq, or starts it with the rank's own block. Writes dkv, the gradient of the block's keys
/// and values through the rank's queries.
void RingAttention::gradients(const Context& context, const Block& block, const Tensor& dy_RQ,
                              const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse, const Tensor& dq,
                              const Tensor& dkv) const {
  bool add_kv[Zigzag::num_chunks] = {};
  for (int chunk = 0; chunk < Zigzag::num_chunks; ++chunk) {
    bool add_q = !is_own(block);
    for (int key_chunk = 0; key_chunk < Zigzag::num_chunks; ++key_chunk) {
      if (!sees(chunk, block, key_chunk)) continue;
      kernels::attention_backward(context, chunk_shape_, visibility(chunk, block, key_chunk),
                                  rows(dy_RQ, chunk), operands(qkv_RE, block.kv, chunk, key_chunk),
                                  rows(y_RQ, chunk), lse_chunk(lse, chunk),
                                  {operands(dq, dkv, chunk, key_chunk), std::exchange(add_q, true),
                                   std::exchange(add_kv[key_chunk], true)});
    }
  }
  for (int key_chunk = 0; key_chunk < Zigzag::num_chunks; ++key_chunk)
    if (!add_kv[key_chunk]) kernels::zero(context, rows(dkv, key_chunk));
}

void RingAttention::backward(const Context& context, const Tensor& dy_RQ, const Tensor& qkv_RE,
                             const Tensor& y_RQ, const Tensor& lse) const {
  const Arena::Scope scope(context.scratch());
  Arena& scratch = context.scratch();
  const DType sums = lse.dtype();
  const Tensor dq = scratch.allocate(sums, y_RQ.shape());
  // A block's gradients travel around the ranks behind it. Each rank adds its part, and the sum
  // ends on the block's owner.
  const Shape shape{qkv_RE.dim(0), key_value_features_};
  const Tensor own = scratch.allocate(sums, shape);
  std::array<Tensor, 2> travelling{scratch.allocate(sums, shape), scratch.allocate(sums, shape)};
  PendingCollectiveHandle arrives;
  for_blocks(context, keys_and_values(context, qkv_RE), [&](const Block& block) {
    auto& [here, next] = travelling;
    gradients(context, block, dy_RQ, qkv_RE, y_RQ, lse, dq, is_own(block) ? here : own);
    wait(context, arrives);
    if (!is_own(block)) kernels::add(context, here, own, here);
    arrives = ops_.start_ring_shift(here, next);
    std::swap(here, next);
  });
  wait(context, arrives);
  kernels::cast_columns(context, {dq}, {qkv_RE}, query_features_);
  kernels::cast_columns(context, {travelling[0]}, {qkv_RE, query_features_}, key_value_features_);
}

}  // namespace dt::model
