#pragma once
// Pools buffers of a few sizes that come and go within a step. Models such a pool by sizes alone.

#include <cstddef>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "tensor/buffer.hpp"

namespace dt::parallel {

/// The sizes of a pool's spare buffers. It chooses as the pool chooses: the smallest that is large enough.
class SimulatedPool {
 public:
  /// `largest`: returns the size of the largest spare buffer that the pool hands out for so many bytes.
  SimulatedPool(const std::vector<std::size_t>& spare, std::function<std::size_t(std::size_t bytes)> largest)
      : spare_(spare.begin(), spare.end()), largest_(std::move(largest)) {}

  /// Returns the size of the buffer that the pool hands out. A buffer that the pool must allocate counts as
  /// missing.
  std::size_t acquire(std::size_t bytes);
  /// Returns a buffer of that size to the pool, and sets `bytes` to 0.
  void release(std::size_t& bytes);
  const std::vector<std::size_t>& missing() const { return missing_; }

 private:
  std::multiset<std::size_t> spare_;
  std::function<std::size_t(std::size_t bytes)> largest_;
  std::vector<std::size_t> missing_;
};

/// A pool of buffers. It keeps returned buffers for requests of about their size. If none fits a
/// request, it frees them, on a device only if memory is short. It thus holds hardly more than was
/// ever in use at one time.
///
/// On a device, the caller enqueues the work that uses a buffer on the one computing stream before
/// it returns the buffer. If the work runs elsewhere, that stream must first wait for it
/// (comm::Work::wait). The next user's work then comes after it.
class BufferPool {
 public:
  explicit BufferPool(Device device) : device_(device) {}
  /// Returns a buffer of at least so many bytes. Their contents are arbitrary.
  Buffer acquire(std::size_t bytes);
  void release(Buffer&& buffer);
  /// Adds a spare buffer of `bytes`.
  /// Errors: environment, memory is short.
  void add_spare(std::size_t bytes) { spare_.push_back(Buffer(device_, bytes)); }
  /// Returns the spare buffers as sizes.
  SimulatedPool simulated() const;
  std::size_t peak_bytes() const { return peak_; }

 private:
  Buffer allocate(std::size_t bytes);
  Device device_;
  std::vector<Buffer> spare_;
  std::size_t in_use_ = 0, peak_ = 0;
};

}  // namespace dt::parallel
