#pragma once
// The exchanges that a layer needs where tensor parallelism splits it, or where context parallelism
// splits the sequence. The layer does not know the ranks that share it. Matrices are split in
// pairs. The first matrix is split by columns, so that each rank computes some of the features. The
// second is split by rows, so that the ranks' outputs are summed.
// Source: Shoeybi et al. 2019, section 3.
// Legend: R rows of a micro-batch, L this rank's rows where tensors are not split by features:
// R ÷ ranks with sequence parallelism (Korthikanti et al. 2022, section 4.2.2), else R.

#include <cstdint>
#include <memory>

#include "base/numeric/range.hpp"
#include "model/model_spec.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// This rank's shard of each layer.
struct TensorParallelShard {
  int rank = 0;
  int size = 1;
  bool sequence_parallel = false;  // sequence parallelism
  /// The rank among those that divide each sequence (context parallelism). Rows are then the rows
  /// of this rank's part of the sequences.
  int context_rank = 0;
  int context_size = 1;

  bool is_whole() const { return size == 1; }
  /// Returns the number of ranks that divide all rows.
  int num_row_ranks() const { return sequence_parallel ? size : 1; }
  /// Returns L.
  /// Errors: internal if the ranks do not divide the rows evenly.
  std::int64_t local_rows(std::int64_t rows) const;
  /// Returns this rank's L rows of a tensor of R rows.
  Tensor local_rows_of(const Tensor& full_R) const;
  /// Returns this rank's rows of a table, or of the head's matrix. Ranks divide them as evenly as
  /// possible.
  Range vocabulary_range(const ModelSpec& spec) const { return even_range(rank, size, spec.vocabulary); }
};

/// Returns the model as this rank holds it, with this rank's heads and MLP features. If there are
/// fewer key-value heads than ranks, several ranks hold the same head. The vocabulary is unchanged.
ModelSpec shard_spec(const ModelSpec& spec, const TensorParallelShard& shard);

/// An exchange in flight. Its tensors must stay valid until the caller has waited for it.
class PendingCollective {
 public:
  virtual ~PendingCollective() = default;
  /// Makes all later work of this context wait for the exchange.
  virtual void wait(const Context& context) = 0;
};
/// The owner of an exchange; null if there was nothing to exchange.
using PendingCollectiveHandle = std::unique_ptr<PendingCollective>;
inline void wait(const Context& context, const PendingCollectiveHandle& exchange) {
  if (exchange) exchange->wait(context);
}

/// The exchanges of a layer's ranks. This base class is for layers that one rank holds whole: a sum
/// over ranks is then the rank's own tensor. `parallel` derives the class that communicates for
/// split layers.
/// Collective: all ranks that share the layers start the same exchanges in the same order.
class TensorParallelOps {
 public:
  explicit TensorParallelOps(TensorParallelShard shard = {}) : shard_(shard) {}
  virtual ~TensorParallelOps() = default;
  const TensorParallelShard& shard() const { return shard_; }

  /// Starts a sum over the ranks of `partial`, [R, …]: a reduce-scatter if ranks divide rows, else
  /// an all-reduce. `local`, [L, …], receives this rank's rows of the sum. The two may be one tensor
  /// if L is R.
  virtual PendingCollectiveHandle start_reduce(const Tensor& partial_RC, const Tensor& local_LC) const;
  /// Starts an all-gather: full = the rows of all ranks, [L, …] each, in rank order. Only if ranks
  /// divide rows.
  virtual PendingCollectiveHandle start_all_gather_rows(const Tensor& local_LC, const Tensor& full_RC) const;
  /// Starts an all-gather: all[i] = `own` of rank i.
  virtual PendingCollectiveHandle start_all_gather(const Tensor& own, const Tensor& all) const;

  /// Starts a shift among the ranks that divide each sequence. `own` goes to the next rank;
  /// `arriving` comes from the previous rank.
  virtual PendingCollectiveHandle start_ring_shift(const Tensor& own, const Tensor& arriving) const;

  /// Returns the number of chunks of rows in which products are exchanged. Each chunk travels while
  /// another is multiplied.
  virtual int num_chunks() const { return 1; }

 private:
  TensorParallelShard shard_;
};

/// Returns the operations for whole layers, which do not communicate.
const TensorParallelOps& single_rank_ops();

}  // namespace dt::model
