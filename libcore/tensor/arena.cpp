#include "tensor/arena.hpp"

#include <algorithm>

#include "base/numeric/integer.hpp"
#include "tensor/buffer.hpp"

namespace dt {

namespace {

/// Returns the alignment of scratch memory: a cache line; on GPUs, what libraries ask of their
/// workspaces.
std::size_t alignment_on(Device device) {
  return device == Device::host() ? 64 : 256;
}

constexpr std::size_t min_chunk_bytes = std::size_t{1} << 20;
constexpr std::size_t max_spare_bytes = std::size_t{64} << 20;

}  // namespace

std::size_t Arena::capacity_bytes() const {
  std::size_t total = 0;
  for (const Buffer& chunk : chunks_) total += chunk.bytes();
  return total;
}

Tensor Arena::allocate(DType dtype, Shape shape) {
  const Tensor sized(nullptr, dtype, shape, device_);
  const std::size_t alignment = alignment_on(device_);
  const std::size_t bytes = std::max(round_up(sized.bytes(), alignment), alignment);
  if (chunk_ == 0 && used_ == 0 && chunks_.size() > 1 && !DeferredFree::is_active()) {
    // Nothing is in use, so one chunk can serve the same demand without gaps. While freed buffers
    // stay allocated (DeferredFree), one more chunk would only take more memory.
    chunks_.clear();
    chunks_.emplace_back(device_, peak_bytes_);
  }
  while (chunk_ < chunks_.size() && chunks_[chunk_].bytes() - used_ < bytes) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    chunks_.emplace_back(device_,
                         std::max({bytes, min_chunk_bytes, std::min(capacity_bytes(), max_spare_bytes)}));
  }
  std::byte* data = chunks_[chunk_].data() + used_;
  used_ += bytes;
  live_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return Tensor(data, dtype, std::move(shape), device_);
}

Arena::Scope::Scope(Arena& arena)
    : arena_(arena), chunk_(arena.chunk_), used_(arena.used_), live_bytes_(arena.live_bytes_) {}

Arena::Scope::~Scope() {
  arena_.chunk_ = chunk_;
  arena_.used_ = used_;
  arena_.live_bytes_ = live_bytes_;
}

}  // namespace dt
