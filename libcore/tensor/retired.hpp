#pragma once
// Memory of devices that is given back while a step is under way.

#include <cstddef>
#include <vector>

#include "tensor/buffer.hpp"

namespace dt {

/// While one lives, memory of devices and pinned memory that this thread gives back stays allocated. To free
/// it waits for all that any stream of the device was given (cudaFree, cudaFreeHost), also for a receive
/// whose sender may wait for what this rank has yet to do: a rank that frees inside a step may wait for
/// itself.
class RetiredMemory {
 public:
  RetiredMemory();
  /// Frees what is left, also where an error goes on its way: what streams wait for is aborted then.
  ~RetiredMemory();
  RetiredMemory(const RetiredMemory&) = delete;

  /// Whether memory that this thread gives back stays allocated.
  static bool is_kept() { return current_ != nullptr; }
  /// Called by a buffer at its end, where it is so.
  static void keep(Buffer&& buffer) { current_->buffers_.push_back(std::move(buffer)); }

  std::size_t bytes() const;
  /// Called when nothing is under way that waits for what this rank has yet to do.
  void free();

 private:
  static constinit thread_local RetiredMemory* current_;  // the innermost
  RetiredMemory* outer_;
  std::vector<Buffer> buffers_;
};

}  // namespace dt
