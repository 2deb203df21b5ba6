#pragma once
// Owns memory of a device or of the host, and defers the freeing of device memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/device/device.hpp"

namespace dt {

/// The pages that make up large buffers.
enum class Pages {
  huge,    // fast
  sparse,  // small pages, each allocated when it is first written, for data that are mostly zero
  pinned,  // host memory only; copies between it and devices overlap with other work
};

/// An owner of `bytes` of zeroed memory, aligned to 64 bytes (large buffers to 2 MiB, for huge
/// pages). Move-only. Device memory is freed once the device's work with it is done.
/// Errors: environment, naming the size, memory is short.
class Buffer {
 public:
  Buffer() = default;  // absent
  Buffer(Device device, std::size_t bytes, Pages pages = Pages::huge);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  /// Zeroes the memory, which must be the host's. Returns the pages of large sparse buffers to the
  /// kernel.
  void clear();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  std::span<std::byte> span() const { return {data_, bytes_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_ = Device::host();  // no meaning if absent
  Pages pages_ = Pages::huge;
};

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
  /// Takes over a buffer's memory. The buffer's destructor calls it if is_active().
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
