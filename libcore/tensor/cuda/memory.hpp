#pragma once
// Memory of GPUs, and what is pinned of the host's.

#include <cstddef>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "tensor/device.hpp"

namespace dt::cuda {

/// As Accelerator says it; thread-safe.
class Memory {
 public:
  static std::size_t free_bytes(Device device);
  std::byte* allocate(Device device, std::size_t bytes);
  /// Once nothing uses it any more. What goes wrong here was said, or will be, by who waits for work.
  void release(Device device, std::byte* memory, std::size_t bytes);
  static std::byte* allocate_pinned(std::size_t bytes);
  static void release_pinned(std::byte* memory);
  static void pin(std::byte* memory, std::size_t bytes);
  static void unpin(std::byte* memory);

 private:
  Error is_short(Device device, std::size_t bytes);

  std::mutex mutex_;
  std::map<int, std::size_t> held_;  // by device
};

}  // namespace dt::cuda
