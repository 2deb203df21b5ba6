#pragma once
// Pools buffers of a few sizes that come and go within a step.

#include <cstddef>
#include <vector>

#include "parallel/state/simulated_pool.hpp"
#include "tensor/buffer.hpp"

namespace dt::parallel {

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
