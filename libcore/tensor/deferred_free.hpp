#pragma once
// Defers the freeing of device memory while a step is under way.

#include <cstddef>
#include <vector>

#include "tensor/buffer.hpp"

namespace dt {

/// Keeps device memory and pinned memory that this thread frees allocated for the object's
/// lifetime. Freeing (cudaFree, cudaFreeHost) waits for all work on the device. That work may be a
/// receive whose sender waits for something that this rank has yet to do. So a rank that frees
/// inside a step could wait for itself.
class DeferredFree {
 public:
  DeferredFree();
  /// Frees the memory, even while an exception unwinds: the operations that streams wait for are
  /// aborted then.
  ~DeferredFree();
  DeferredFree(const DeferredFree&) = delete;

  /// Returns whether memory that this thread frees stays allocated.
  static bool is_active() { return current_ != nullptr; }
  /// Takes over a buffer's memory. The buffer's destructor calls it if is_kept().
  static void defer(Buffer&& buffer) { current_->buffers_.push_back(std::move(buffer)); }

  std::size_t bytes() const;
  /// Frees the memory. Call only while no work on the device waits for something that this rank has
  /// yet to do.
  void free();

 private:
  static constinit thread_local DeferredFree* current_;  // the innermost object
  DeferredFree* outer_;
  std::vector<Buffer> buffers_;
};

}  // namespace dt
