#pragma once
// A rank's part of a batch, on its device, in micro-batches.

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/core/staging.hpp"
#include "data/read/loader.hpp"
#include "model/layout.hpp"
#include "model/units/unit.hpp"
#include "parallel/state/buffer_pool.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::train {

/// Reduces a batch to the rank's part of each sequence, which context-parallel ranks divide, and sets the
/// tokens' positions. Rows are in the order that micro-batches of `size` samples need (see
/// model::MicroBatch); the last micro-batch may be smaller. The batch's sequence length becomes that of the
/// part. 2·cp divides it.
/// Errors: internal if the batch has positions, because it has been reduced before.
void slice_context_rows(data::Batch& batch, std::int64_t size, const model::Layout& layout,
                        const model::MeshCoordinates& place);

/// Copies a rank's batches to its device, by pinned memory that is kept from batch to batch. Copies from it
/// are asynchronous, and it is not written again before they are done.
class PinnedUploader {
 public:
  /// The context must outlive it.
  explicit PinnedUploader(const Context& context);
  ~PinnedUploader();
  PinnedUploader(const PinnedUploader&) = delete;

  /// Enqueues a copy of the rows, one after the other, to `there` on the device. The rows may be
  /// freed after the call.
  void copy(std::span<const Tensor> rows, const Tensor& there);
  std::size_t peak_bytes() const { return pool_->peak_bytes(); }

 private:
  const Context& context_;
  std::shared_ptr<comm::StagingPool> pool_;
  std::deque<std::pair<std::unique_ptr<Event>, comm::StagingPool::Block>> in_flight_;
};

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
