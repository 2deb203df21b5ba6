#pragma once
// Memory that operations borrow for data that arrive from other ranks.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "tensor/buffer.hpp"

namespace dt::comm {

/// A pool of host memory, through which messages pass. Keeps up to `most_kept_bytes` of returned
/// blocks, so that segments find warm memory.
/// Thread safety: safe from several threads.
class StagingPool : public std::enable_shared_from_this<StagingPool> {
 public:
  explicit StagingPool(Pages pages = Pages::huge, std::size_t most_kept_bytes = std::size_t{64} << 20)
      : pages_(pages), max_cached_bytes_(most_kept_bytes) {}
  using Block = std::shared_ptr<Buffer>;
  /// Returns at least `bytes`, with any content. The block returns to the pool with its last copy.
  Block acquire(std::size_t bytes);
  std::size_t peak_bytes() const;

 private:
  void release(Buffer buffer) noexcept;
  const Pages pages_;
  const std::size_t max_cached_bytes_;
  mutable std::mutex mutex_;
  std::vector<Buffer> free_;
  std::size_t free_bytes_ = 0;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace dt::comm
