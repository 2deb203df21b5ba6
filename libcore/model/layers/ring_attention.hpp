#pragma once
// Ring attention: context-parallel ranks divide sequences. Each rank keeps its queries. Keys and
// values pass from rank to rank, and a rank computes with one block while the next travels. The
// results of the blocks are merged in the order in which the blocks arrive.
// Source: Liu et al. 2023.
// Legend: see kernels/attention.hpp. A rank's rows are its earlier chunk of all sequences, then its
// later chunk (see Zigzag).

#include <cstdint>
#include <optional>

#include "kernels/attention.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "tensor/context.hpp"

namespace dt::model {

/// A rank's two chunks of a sequence in the zigzag order, in which all ranks compute equal parts of
/// the causal triangle. Of 2·cp chunks of `length` positions each, rank r has chunk r and the chunk
/// at the same distance from the end. The earlier chunk comes first.
struct Zigzag {
  std::int64_t length = 0;
  int rank = 0;
  int size = 1;

  static constexpr int num_chunks = 2;
  /// Returns the first position of one of the rank's chunks.
  std::int64_t position(int chunk) const {
    return length * (chunk == 0 ? rank : std::int64_t{2} * size - 1 - rank);
  }
};

class RingAttention {
 public:
  /// `shape.sequence` is the length of the rank's part of each sequence, which is two chunks.
  /// `first_R` is the first position of its sequence that each row sees; absent means 0. `window`
  /// is the most keys that a query sees. Chunks before the windows of all queries are then skipped.
  /// first_R must still account for each row's window. `ops` must outlive this object.
  RingAttention(const TensorParallelOps& ops, const kernels::AttentionShape& shape, const Tensor& first_R,
                std::optional<std::int64_t> window = {});

  /// Computes y_RQ and lse, [2, B, H, chunk], from packed rows. If max_scores_H is present, raises it to the
  /// largest scores of the rank's queries (see kernels::attention).
  void forward(const Context& context, const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse,
               const Tensor& max_scores_H = {}) const;
  /// Replaces the packed rows by their gradient.
  void backward(const Context& context, const Tensor& dy_RQ, const Tensor& qkv_RE, const Tensor& y_RQ,
                const Tensor& lse) const;

  /// Returns the most bytes of scratch memory that a call takes.
  static std::size_t scratch_bytes(const kernels::AttentionShape& shape, DType dtype);

 private:
  struct Block {  // a rank's keys and values: [R, 2·K·D]
    Tensor kv;
    int owner;
  };
  struct PartialResult {  // results so far, and the number of key chunks seen by each query chunk
    Tensor y_RQ, lse_BHT;
    Tensor max_scores_H;
    std::int64_t num_seen[Zigzag::num_chunks] = {};
  };
  Zigzag zigzag_of(int rank) const {
    return {shape_.sequence / Zigzag::num_chunks, rank, ops_.shard().context_size};
  }
  int previous_rank(int rank, int steps) const;
  bool is_own(const Block& block) const { return block.owner == ops_.shard().context_rank; }
  Tensor rows(const Tensor& all, int chunk) const;
  Tensor lse_chunk(const Tensor& lse, int chunk) const;
  kernels::Visibility visibility(int query_chunk, const Block& block, int key_chunk) const;
  bool sees(int query_chunk, const Block& block, int key_chunk) const;
  /// Returns how many key chunks of a sequence a chunk of the rank's queries sees.
  std::int64_t num_chunks_seen(int query_chunk) const;
  /// Returns the first position that the first query of a chunk may see.
  std::int64_t first_in_sight(int query_chunk) const;
  kernels::QueriesKeysValues operands(const Tensor& q, const Tensor& kv, int query_chunk,
                                      int key_chunk) const;
  Tensor keys_and_values(const Context& context, const Tensor& qkv_RE) const;
  void attend(const Context& context, const Tensor& qkv_RE, const Block& block, PartialResult& sums,
              const Tensor& y_RQ) const;
  void gradients(const Context& context, const Block& block, const Tensor& dy_RQ, const Tensor& qkv_RE,
                 const Tensor& y_RQ, const Tensor& lse, const Tensor& dq, const Tensor& dkv) const;
  /// Calls body(block) for each rank's keys and values, its own first, while the next block
  /// arrives.
  template <class Body>
  void for_blocks(const Context& context, const Tensor& own_kv, const Body& body) const;

  const TensorParallelOps& ops_;
  kernels::AttentionShape shape_;
  kernels::AttentionShape chunk_shape_;
  Tensor first_R_;
  std::optional<std::int64_t> window_;
  std::int64_t chunk_rows_;
  std::int64_t query_features_;
  std::int64_t key_value_features_;  // keys and values together
};

}  // namespace dt::model
