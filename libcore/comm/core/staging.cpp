#include "comm/core/staging.hpp"

#include <algorithm>
#include <utility>

namespace dt::comm {

namespace {

constexpr std::size_t smallest_bytes = std::size_t{4} << 10;

}  // namespace

StagingPool::Block StagingPool::acquire(std::size_t bytes) {
  Buffer buffer;
  {
    const std::lock_guard lock(mutex_);
    // Leaves a block that is far too large to a later caller.
    const auto fits = [bytes](const Buffer& candidate) {
      return candidate.bytes() >= bytes && candidate.bytes() / 4 <= std::max(bytes, smallest_bytes);
    };
    const auto place = std::find_if(free_.rbegin(), free_.rend(), fits);
    if (place != free_.rend()) {
      std::swap(*place, free_.back());
      buffer = std::move(free_.back());
      free_.pop_back();
      free_bytes_ -= buffer.bytes();
    }
  }
  if (buffer.data() == nullptr) buffer = Buffer(Device::host(), std::max(bytes, smallest_bytes), pages_);
  {
    const std::lock_guard lock(mutex_);
    in_use_ += buffer.bytes();
    peak_ = std::max(peak_, in_use_);
  }
  return {new Buffer(std::move(buffer)), [pool = shared_from_this()](Buffer* block) {
            pool->release(std::move(*block));
            delete block;
          }};
}

std::size_t StagingPool::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void StagingPool::release(Buffer buffer) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    in_use_ -= buffer.bytes();
    if (free_bytes_ + buffer.bytes() > max_cached_bytes_) return;
    const std::size_t bytes = buffer.bytes();
    free_.push_back(std::move(buffer));
    free_bytes_ += bytes;
  } catch (const std::bad_alloc&) {
    // The buffer is then freed instead of kept.
  }
}

}  // namespace dt::comm
