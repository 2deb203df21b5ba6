#pragma once
// Copies of a rank's batches to its device.

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "comm/core/staging.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::train {

/// Pinned memory that is kept from batch to batch. Copies from it are asynchronous, and it is not
/// written again before they are done.
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

}  // namespace dt::train
