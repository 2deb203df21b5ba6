#pragma once
// Owned memory of a device.

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/device.hpp"

namespace dt {

/// What large buffers are made of.
enum class Pages {
  huge,    // for speed
  sparse,  // small ones, each taken when it is first written, for what is mostly zero
  pinned,  // of the host alone: what the program's devices copy from and to while all else goes on
};

/// `bytes` of zeroed memory aligned to 64 bytes (large ones to 2 MiB, for huge pages). Move-only. What
/// devices do with one of theirs is done before it goes. Errors: environment, naming the size, when memory is
/// short.
class Buffer {
 public:
  Buffer() = default;  // absent
  Buffer(Device device, std::size_t bytes, Pages pages = Pages::huge);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  /// Zeroes it, on the host; sparse pages are given back.
  void clear();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  std::span<std::byte> span() const { return {data_, bytes_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_ = Device::host();  // of an absent one: of no meaning
  Pages pages_ = Pages::huge;
};

}  // namespace dt
