#pragma once
// A batch in micro-batches, on the device of the rank.

#include <span>
#include <vector>

#include "data/read/loader.hpp"
#include "model/units/unit.hpp"
#include "parallel/state/buffer_pool.hpp"
#include "tensor/context.hpp"
#include "train/step/pinned_rows.hpp"

namespace dt::train {

/// The micro-batches of a batch. On the host they are views of the batch, on a device views of a
/// copy. The copy's memory returns to a pool.
class MicroBatches {
 public:
  /// Cuts the batch into micro-batches of `size` samples each; the last may be smaller.
  /// `positions_R` are the positions of rows in sequence order. All arguments must outlive this
  /// object. The batch must also outlive the work with the micro-batches.
  /// Errors: internal if ids are outside the vocabulary.
  MicroBatches(const Context& context, parallel::BufferPool& pool, PinnedUploader& pinned, data::Batch& batch,
               std::int64_t size, std::int64_t vocabulary, const Tensor& positions_R);
  MicroBatches(MicroBatches&&) = default;
  ~MicroBatches();

  std::span<model::MicroBatch> list() { return list_; }

 private:
  /// Copies the present tensors of a batch to the device.
  void copy_to_device(PinnedUploader& pinned, std::span<Tensor> of_batch);

  parallel::BufferPool& pool_;
  Buffer memory_;
  std::vector<model::MicroBatch> list_;
};

}  // namespace dt::train
