#pragma once
// Owned memory of a device.

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/device.hpp"

namespace dt {

/// `bytes` of zeroed memory aligned to 64 bytes (large ones to 2 MiB, for huge pages). Move-only.
/// Errors: environment, naming the size, when memory is short.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device device, std::size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  std::span<std::byte> span() const { return {data_, bytes_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_;
};

}  // namespace dt
