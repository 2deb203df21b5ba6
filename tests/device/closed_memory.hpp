#pragma once
// Memory of the test device that the host may not touch.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <sys/mman.h>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

namespace dt::test_device {

/// Allocations that are open only while the device works. They lie in one range of addresses, each at the
/// end of its pages, up to alignment. The page after it is a guard: no access is allowed there, ever.
/// Thread safety: the caller's.
class ClosedMemory {
 public:
  ClosedMemory() {
    void* const memory =
        ::mmap(nullptr, range_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    DT_CHECK(memory != MAP_FAILED, "no {} bytes of addresses for the test device", range_bytes);
    range_ = static_cast<std::byte*>(memory);
    has_guards_ = ::madvise(range_, page_bytes, guard_install) == 0;
  }
  ~ClosedMemory() { ::munmap(range_, range_bytes); }
  ClosedMemory(const ClosedMemory&) = delete;

  /// Returns zeroed memory, aligned to 256 bytes.
  std::byte* allocate(std::size_t bytes) {
    const std::size_t size = round_up(bytes, alignment), pages = round_up(size, page_bytes);
    std::byte* first = range_;
    for (const auto& [begin, block] : blocks_) {
      if (first + pages + page_bytes <= block.first) break;
      first = block.first + block.pages + page_bytes;
    }
    DT_CHECK(first + pages + page_bytes <= range_ + range_bytes, "no {} bytes for the test device", bytes);
    const auto [place, is_new] = blocks_.emplace(first + pages - size, Block{first, pages, size});
    used_bytes_ = std::max(used_bytes_, static_cast<std::size_t>(first - range_) + pages + page_bytes);
    if (has_guards_) {
      ::madvise(first, pages, guard_remove);
      ::madvise(first + pages, page_bytes, guard_install);
    }
    protect(is_open_);
    bytes_ += static_cast<std::int64_t>(size);
    most_bytes_ = std::max(most_bytes_, bytes_);
    return place->first;
  }
  void release(std::byte* begin) {
    const auto place = blocks_.find(begin);
    const Block block = place->second;
    if (has_guards_) {
      ::madvise(block.first, block.pages, guard_install);
    } else {
      ::madvise(block.first, block.pages, MADV_DONTNEED);
      ::mprotect(block.first, block.pages, PROT_NONE);
    }
    bytes_ -= static_cast<std::int64_t>(block.size);
    blocks_.erase(place);
  }
  bool has(const std::byte* address) const {
    const auto after = blocks_.upper_bound(const_cast<std::byte*>(address));
    return after != blocks_.begin() && address < std::prev(after)->first + std::prev(after)->second.size;
  }
  /// Return the bytes that are allocated now, and the most at a time.
  std::int64_t bytes() const { return bytes_; }
  std::int64_t most_bytes() const { return most_bytes_; }

  /// Opens all memory to the host, or closes it.
  void open(bool is_open) {
    if (stays_open_ || is_open == is_open_) return;
    protect(is_open);
    is_open_ = is_open;
  }
  /// Leaves all memory open from now on.
  void leave_open() {
    open(true);
    stays_open_ = true;
  }

 private:
  struct Block {
    std::byte* first;
    std::size_t pages, size;
  };

  /// Changes the whole range at once, which guards outlast. Linux before 6.13 has none: there each
  /// allocation is changed by itself, which takes most of a training's time.
  void protect(bool is_open) const {
    const int protection = is_open ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (has_guards_) {
      ::mprotect(range_, used_bytes_, protection);
    } else {
      for (const auto& [begin, block] : blocks_) ::mprotect(block.first, block.pages, protection);
    }
  }

  static constexpr std::size_t page_bytes = 4096, alignment = 256, range_bytes = std::size_t{1} << 38;
  static constexpr int guard_install = 102, guard_remove = 103;  // MADV_GUARD_… of linux/mman.h

  std::byte* range_;
  std::map<std::byte*, Block> blocks_;
  std::size_t used_bytes_ = page_bytes;
  std::int64_t bytes_ = 0, most_bytes_ = 0;
  bool has_guards_, is_open_ = false, stays_open_ = false;
};

}  // namespace dt::test_device
