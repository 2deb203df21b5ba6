#pragma once
// Scratch memory that kernels and units allocate and free in stack order.

#include <cstddef>
#include <vector>

#include "tensor/buffer.hpp"
#include "tensor/tensor.hpp"

namespace dt {

/// Scratch memory that grows to the largest demand and then allocates no more.
/// Thread safety: none; one arena per rank.
class Arena {
 public:
  explicit Arena(Device device) : device_(device) {}
  Arena(const Arena&) = delete;

  /// Returns uninitialized memory, aligned to 64 bytes (on GPUs, to 256). It is valid until the
  /// enclosing Scope ends.
  Tensor allocate(DType dtype, Shape shape);
  std::size_t capacity_bytes() const;
  /// Returns the most bytes that were allocated at one time.
  std::size_t peak_bytes() const { return peak_bytes_; }

  /// Frees, at its end, all memory that was allocated during its lifetime.
  class Scope {
   public:
    explicit Scope(Arena& arena);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    Arena& arena_;
    std::size_t chunk_;
    std::size_t used_;
    std::size_t live_bytes_;
  };

 private:
  friend class Scope;
  Device device_;
  std::vector<Buffer> chunks_;  // earlier chunks stay where they are when the arena grows
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;        // bytes used in that chunk
  std::size_t live_bytes_ = 0;  // allocated now, without the gaps that chunks leave at their ends
  std::size_t peak_bytes_ = 0;
};

}  // namespace dt
