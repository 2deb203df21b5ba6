#pragma once
// Buffers of a few sizes that come and go within a step.

#include <cstddef>
#include <vector>

#include "parallel/pool_on_paper.hpp"
#include "tensor/buffer.hpp"

namespace dt::parallel {

/// Keeps what was given back for who asks for about as much; what does not fit then is freed, so that it
/// holds hardly more than was ever in use at one time. On a device, what used a buffer that is given back
/// must have been given to the one stream that computes, or have been waited for with it (comm::Work::wait):
/// who takes it next comes after that.
class BufferPool {
 public:
  explicit BufferPool(Device device) : device_(device) {}
  /// At least so many bytes; their contents are arbitrary.
  Buffer take(std::size_t bytes);
  void give(Buffer&& buffer);
  /// Adds a spare buffer of `bytes`. Errors: environment, of memory that is short.
  void add(std::size_t bytes) { spare_.push_back(Buffer(device_, bytes)); }
  /// Returns the spare buffers as sizes.
  PoolOnPaper on_paper() const;
  std::size_t most_in_use_bytes() const { return most_in_use_; }

 private:
  Buffer allocate(std::size_t bytes);
  Device device_;
  std::vector<Buffer> spare_;
  std::size_t in_use_ = 0, most_in_use_ = 0;
};

}  // namespace dt::parallel
