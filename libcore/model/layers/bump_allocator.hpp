#pragma once
// The division of a unit's saved memory into tensors.

#include <span>

#include "base/numeric/integer.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// Hands out consecutive parts of a unit's saved memory, each aligned to 64 bytes relative to its
/// start. Taking them again in the same order returns the same parts.
class BumpAllocator {
 public:
  /// Only counts bytes; returns absent tensors.
  BumpAllocator() : BumpAllocator(Device::host(), {}) {}
  BumpAllocator(Device device, std::span<std::byte> memory) : device_(device), memory_(memory) {}

  Tensor allocate(DType dtype, Shape shape) {
    const std::size_t begin = used_;
    const std::size_t bytes = static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype);
    used_ += round_up(bytes, 64U);
    if (memory_.data() == nullptr) return {};
    DT_CHECK(used_ <= memory_.size(), "a unit's saved memory has {} bytes; {} are needed", memory_.size(),
             used_);
    return Tensor(memory_.data() + begin, dtype, std::move(shape), device_);
  }
  std::size_t used_bytes() const { return used_; }

 private:
  Device device_;
  std::span<std::byte> memory_;
  std::size_t used_ = 0;
};

}  // namespace dt::model
