#include "parallel/state/buffer_pool.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace dt::parallel {

namespace {

/// Returns the size of the largest spare buffer that acquire(bytes) returns.
std::size_t largest_for(std::size_t bytes) {
  return 2 * bytes + 1;
}

}  // namespace

std::size_t SimulatedPool::acquire(std::size_t bytes) {
  if (bytes == 0) return 0;
  const auto found = spare_.lower_bound(bytes);
  if (found == spare_.end() || *found > largest_(bytes)) {
    missing_.push_back(bytes);
    return bytes;
  }
  return spare_.extract(found).value();
}

void SimulatedPool::release(std::size_t& bytes) {
  if (bytes > 0) spare_.insert(std::exchange(bytes, 0));
}

/// Takes, of equal buffers, the one with the lowest address, so that each step takes the same
/// buffers.
Buffer BufferPool::acquire(std::size_t bytes) {
  if (bytes == 0) return {};
  const auto comes_first = [](const Buffer& a, const Buffer& b) {
    return std::pair(a.bytes(), a.data()) < std::pair(b.bytes(), b.data());
  };
  auto best = spare_.end();
  for (auto one = spare_.begin(); one != spare_.end(); ++one) {
    const bool fits = one->bytes() >= bytes && one->bytes() <= largest_for(bytes);
    if (fits && (best == spare_.end() || comes_first(*one, *best))) best = one;
  }
  Buffer buffer;
  if (best != spare_.end()) {
    buffer = std::move(*best);
    spare_.erase(best);
  } else {
    buffer = allocate(bytes);
  }
  in_use_ += buffer.bytes();
  peak_ = std::max(peak_, in_use_);
  return buffer;
}

/// Allocates a buffer. A device stops whenever it frees memory, so spares on a device stay while
/// there is room.
Buffer BufferPool::allocate(std::size_t bytes) {
  if (device_ != Device::host() && !spare_.empty()) {
    try {
      return Buffer(device_, bytes);
    } catch (const Error&) {
      // The spares make room.
    }
  }
  spare_.clear();
  return Buffer(device_, bytes);
}

SimulatedPool BufferPool::simulated() const {
  std::vector<std::size_t> spare;
  for (const Buffer& buffer : spare_) spare.push_back(buffer.bytes());
  return {spare, largest_for};
}

void BufferPool::release(Buffer&& buffer) {
  if (!buffer.data()) return;
  in_use_ -= buffer.bytes();
  spare_.push_back(std::exchange(buffer, Buffer()));
}

}  // namespace dt::parallel
