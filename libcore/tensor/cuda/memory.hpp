#pragma once
// Allocates memory of GPUs, and pins memory of the host.

#include <cstddef>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "tensor/device/device.hpp"

namespace dt::cuda {

/// Memory as Accelerator specifies it.
/// Thread safety: safe from several threads.
class Memory {
 public:
  static std::size_t free_bytes(Device device);
  std::byte* allocate(Device device, std::size_t bytes);
  /// Frees memory that nothing uses any more. Ignores errors, as callers that wait for the device's
  /// work get them.
  void release(Device device, std::byte* memory, std::size_t bytes);
  static std::byte* allocate_pinned(std::size_t bytes);
  static void release_pinned(std::byte* memory);
  static void pin(std::byte* memory, std::size_t bytes);
  static void unpin(std::byte* memory);

 private:
  Error is_short(Device device, std::size_t bytes);

  std::mutex mutex_;
  std::map<int, std::size_t> allocated_bytes_;  // by device
};

}  // namespace dt::cuda
