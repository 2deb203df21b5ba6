#pragma once
// Keeps memory of devices that is given back while a step is under way.

#include <cstddef>
#include <vector>

#include "tensor/buffer.hpp"

namespace dt {

/// Keeps memory of devices and pinned memory that this thread gives back allocated, as long as the
/// object lives. Freeing waits for all that any stream of the device was given (cudaFree,
/// cudaFreeHost), also for a receive whose sender may wait for what this rank has yet to do. So a rank
/// that frees inside a step may wait for itself.
class RetiredMemory {
 public:
  RetiredMemory();
  /// Frees what is left, also while an exception unwinds: what streams wait for is aborted then.
  ~RetiredMemory();
  RetiredMemory(const RetiredMemory&) = delete;

  /// Returns whether memory that this thread gives back stays allocated.
  static bool is_kept() { return current_ != nullptr; }
  /// Takes over a buffer's memory. A buffer calls it at its end if is_kept().
  static void keep(Buffer&& buffer) { current_->buffers_.push_back(std::move(buffer)); }

  std::size_t bytes() const;
  /// Frees the memory. Call when nothing is under way that waits for what this rank has yet to do.
  void free();

 private:
  static constinit thread_local RetiredMemory* current_;  // the innermost object
  RetiredMemory* outer_;
  std::vector<Buffer> buffers_;
};

}  // namespace dt
