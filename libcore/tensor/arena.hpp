#pragma once
// Scratch memory that kernels and units take and give back in stack order.

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

  /// Returns uninitialised memory, aligned to 64 bytes, on GPUs to 256. It is valid until the Scope
  /// around it ends.
  Tensor allocate(DType dtype, Shape shape);
  std::size_t capacity_bytes() const;
  /// Returns the most that was allocated at a time.
  std::size_t peak_bytes() const { return peak_bytes_; }

  /// Gives back, with its end, what was allocated during its life.
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
  std::size_t used_ = 0;        // bytes used of that chunk
  std::size_t live_bytes_ = 0;  // allocated now, without the gaps that chunks leave at their ends
  std::size_t peak_bytes_ = 0;
};

}  // namespace dt
