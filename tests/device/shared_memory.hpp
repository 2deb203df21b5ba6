#pragma once
// The memory that a block's threads share.

#include <cstddef>
#include <cstring>
#include <sys/mman.h>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

namespace dt::test_device {

/// Memory that ends at a page's end; the next page is inaccessible.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes)
      : bytes_(round_up(bytes, 16U)), pages_(round_up(bytes_, page_bytes)) {
    void* const memory =
        ::mmap(nullptr, pages_ + page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    DT_CHECK(memory != MAP_FAILED, "no {} bytes of shared memory", bytes);
    memory_ = static_cast<std::byte*>(memory);
    ::mprotect(memory_ + pages_, page_bytes, PROT_NONE);
  }
  ~SharedMemory() { ::munmap(memory_, pages_ + page_bytes); }
  SharedMemory(const SharedMemory&) = delete;
  std::byte* begin() const { return memory_ + pages_ - bytes_; }
  void spoil() { std::memset(begin(), 0xFF, bytes_); }

 private:
  static constexpr std::size_t page_bytes = 4096;
  std::size_t bytes_, pages_;
  std::byte* memory_;
};

}  // namespace dt::test_device
