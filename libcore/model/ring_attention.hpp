#pragma once
// Attention of sequences that ranks divide (context parallelism): each keeps its queries, while keys and
// values go round the ranks, a block being computed with while the next one travels (Liu et al. 2023). What
// queries see of each block is merged in the order in which blocks come by.
// Legend: see kernels/attention.hpp. A rank's rows are those of its earlier chunk of all sequences, then
// those of its later one (see Zigzag).

#include <optional>

#include "kernels/attention.hpp"
#include "model/seam.hpp"
#include "model/zigzag.hpp"
#include "tensor/context.hpp"

namespace dt::model {

class RingAttention {
 public:
  /// `shape.sequence` is the length of the rank's part of each sequence: two chunks. first_R: for each row
  /// the first position of its sequence that it sees; absent: 0. `window`: the most keys that a query sees,
  /// of which first_R tells each row: chunks that lie before the windows of all queries are passed over. The
  /// seam must outlive it.
  RingAttention(const Seam& seam, const kernels::AttentionShape& shape, const Tensor& first_R,
                std::optional<std::int64_t> window = {});

  /// y_RQ and lse, [2, B, H, chunk], from packed rows.
  void forward(const Context& context, const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse) const;
  /// Puts the gradient of the packed rows in their place.
  void backward(const Context& context, const Tensor& dy_RQ, const Tensor& qkv_RE, const Tensor& y_RQ,
                const Tensor& lse) const;

  /// Of the context's scratch memory, at most.
  static std::size_t scratch_bytes(const kernels::AttentionShape& shape, DType dtype);

 private:
  struct Block {  // keys and values of a rank: [R, 2·K·D]
    Tensor kv;
    int owner;
  };
  struct Sums {  // of what was seen so far, and of how many chunks of keys, by each chunk of queries
    Tensor y_RQ, lse_BHT;
    std::int64_t num_seen[Zigzag::num_chunks] = {};
  };
  Zigzag of(int rank) const {
    return {shape_.sequence / Zigzag::num_chunks, rank, seam_.share().context_size};
  }
  int before(int rank, int steps) const;
  bool is_own(const Block& block) const { return block.owner == seam_.share().context_rank; }
  Tensor rows(const Tensor& all, int chunk) const;
  Tensor stretch(const Tensor& lse, int chunk) const;
  kernels::Visibility visibility(int query_chunk, const Block& block, int key_chunk) const;
  bool sees(int query_chunk, const Block& block, int key_chunk) const;
  /// Of all key chunks of a sequence, how many a chunk of the rank's queries sees.
  std::int64_t num_chunks_seen(int query_chunk) const;
  /// The first position that the first query of a chunk may see.
  std::int64_t first_in_sight(int query_chunk) const;
  kernels::QueriesKeysValues operands(const Tensor& q, const Tensor& kv, int query_chunk,
                                      int key_chunk) const;
  Tensor keys_and_values(const Context& context, const Tensor& qkv_RE) const;
  void attend(const Context& context, const Tensor& qkv_RE, const Block& block, Sums& sums,
              const Tensor& y_RQ) const;
  void gradients(const Context& context, const Block& block, const Tensor& dy_RQ, const Tensor& qkv_RE,
                 const Tensor& y_RQ, const Tensor& lse, const Tensor& dq, const Tensor& dkv) const;
  /// body(block) for each rank's keys and values, its own first, while the next ones arrive.
  template <class Body>
  void for_blocks(const Context& context, const Tensor& own_kv, const Body& body) const;

  const Seam& seam_;
  kernels::AttentionShape shape_;
  kernels::AttentionShape chunk_shape_;
  Tensor first_R_;
  std::optional<std::int64_t> window_;
  std::int64_t chunk_rows_;
  std::int64_t query_features_;
  std::int64_t key_value_features_;  // of keys and values together
};

}  // namespace dt::model
