#pragma once
// Memory of the test device that the host may not touch.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <sys/mman.h>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

namespace dt::test_device {

/// Allocations that are open only while the device works.
/// Thread safety: the caller's.
class ClosedMemory {
 public:
  /// Returns zeroed memory, aligned to 256 bytes.
  std::byte* allocate(std::size_t bytes) {
    auto block = std::make_unique<Block>(bytes);
    if (stays_open_) block->open(true);
    std::byte* const begin = block->begin();
    bytes_ += block->bytes();
    most_bytes_ = std::max(most_bytes_, bytes_);
    blocks_.emplace(begin, std::move(block));
    return begin;
  }
  void release(std::byte* begin) {
    const auto place = blocks_.find(begin);
    bytes_ -= place->second->bytes();
    blocks_.erase(place);
  }
  bool has(const std::byte* address) const {
    const auto after = blocks_.upper_bound(const_cast<std::byte*>(address));
    return after != blocks_.begin() && std::prev(after)->second->has(address);
  }
  /// Return the bytes that are allocated now, and the most at a time.
  std::int64_t bytes() const { return bytes_; }
  std::int64_t most_bytes() const { return most_bytes_; }

  /// Opens all memory to the host, or closes it.
  void open(bool is_open) const {
    if (stays_open_) return;
    for (const auto& [begin, block] : blocks_) block->open(is_open);
  }
  /// Leaves all memory open from now on.
  void leave_open() {
    open(true);
    stays_open_ = true;
  }

 private:
  /// An allocation that ends at a page's end, up to alignment. The next page is inaccessible.
  class Block {
   public:
    explicit Block(std::size_t bytes)
        : bytes_(round_up(bytes, alignment)), pages_(round_up(bytes_, page_bytes)) {
      void* const memory =
          ::mmap(nullptr, pages_ + page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      DT_CHECK(memory != MAP_FAILED, "no {} bytes for the test device", bytes);
      memory_ = static_cast<std::byte*>(memory);
    }
    ~Block() { ::munmap(memory_, pages_ + page_bytes); }
    Block(const Block&) = delete;
    std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }
    std::byte* begin() const { return memory_ + pages_ - bytes_; }
    bool has(const std::byte* address) const { return address >= begin() && address < begin() + bytes_; }
    void open(bool is_open) const {
      ::mprotect(memory_, pages_, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
    }

   private:
    static constexpr std::size_t page_bytes = 4096, alignment = 256;

    std::size_t bytes_, pages_;
    std::byte* memory_;
  };

  std::map<std::byte*, std::unique_ptr<Block>> blocks_;
  std::int64_t bytes_ = 0, most_bytes_ = 0;
  bool stays_open_ = false;
};

}  // namespace dt::test_device
