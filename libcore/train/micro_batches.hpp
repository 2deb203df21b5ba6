#pragma once
// A batch where a rank computes, in micro-batches.

#include <span>
#include <vector>

#include "data/loader.hpp"
#include "model/unit.hpp"
#include "parallel/buffer_pool.hpp"
#include "tensor/context.hpp"
#include "train/pinned_rows.hpp"

namespace dt::train {

/// Views of the batch itself on the host; on a device of a copy, whose memory goes back to a pool.
class MicroBatches {
 public:
  /// Of `size` samples each (the last may be smaller). `positions_R` are those of rows that lie in their
  /// order. All must outlive them; the batch, too, what is computed with them. Error{internal}: ids that lie
  /// outside of the vocabulary.
  MicroBatches(const Context& context, parallel::BufferPool& pool, PinnedRows& pinned, data::Batch& batch,
               std::int64_t size, std::int64_t vocabulary, const Tensor& positions_R);
  MicroBatches(MicroBatches&&) = default;
  ~MicroBatches();

  std::span<model::MicroBatch> list() { return list_; }

 private:
  /// Puts what there is of a batch on the device.
  void place(PinnedRows& pinned, std::span<Tensor> of_batch);

  parallel::BufferPool& pool_;
  Buffer memory_;
  std::vector<model::MicroBatch> list_;
};

}  // namespace dt::train
