#pragma once
// Memory that operations borrow for what arrives from other ranks.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "tensor/buffer.hpp"

namespace dt::comm {

/// Of the host, through whose memory messages pass. Keeps what is given back, `most_kept_bytes` of it, so
/// that segments find warm memory. Thread-safe.
class StagingPool : public std::enable_shared_from_this<StagingPool> {
 public:
  explicit StagingPool(Pages pages = Pages::huge, std::size_t most_kept_bytes = std::size_t{64} << 20)
      : pages_(pages), most_kept_bytes_(most_kept_bytes) {}
  using Block = std::shared_ptr<Buffer>;
  /// At least so many bytes, of any content; given back with the last copy.
  Block take(std::size_t bytes);
  std::size_t most_in_use_bytes() const;

 private:
  void give_back(Buffer buffer) noexcept;
  const Pages pages_;
  const std::size_t most_kept_bytes_;
  mutable std::mutex mutex_;
  std::vector<Buffer> free_;
  std::size_t free_bytes_ = 0;
  std::size_t in_use_ = 0;
  std::size_t most_in_use_ = 0;
};

}  // namespace dt::comm
