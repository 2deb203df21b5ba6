#include "tensor/buffer.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sys/mman.h>
#include <utility>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt {

namespace {

constexpr std::size_t small_alignment = 64;
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
constexpr std::size_t large_bytes = std::size_t{4} << 20;

Error short_memory(std::size_t bytes) {
  return Error(ErrorKind::environment, fmt::format("cannot allocate {} of memory", format_bytes(bytes)),
               fmt::format("at most {} is available here: use a smaller model or batch, or more ranks",
                           format_bytes(usable_memory_bytes())));
}

std::byte* allocate_small(std::size_t bytes) {
  const std::size_t rounded = round_up(bytes, small_alignment);
  void* data = std::aligned_alloc(small_alignment, rounded);
  if (data == nullptr) throw short_memory(bytes);
  std::memset(data, 0, rounded);
  return static_cast<std::byte*>(data);
}

/// Returns zero pages from the kernel. The thread that first touches a page decides its NUMA
/// domain. Unless sparse pages are asked for, pages are huge, except at the end, where a huge page
/// would be mostly empty.
std::byte* allocate_large(std::size_t bytes, Pages pages) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 4) throw short_memory(bytes);
  const std::size_t size = round_up(bytes, page_bytes);
  const std::size_t mapped = size + huge_page_bytes;
  void* mapping = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw short_memory(bytes);
  auto* start = static_cast<std::byte*>(mapping);
  const std::size_t head = round_up(reinterpret_cast<std::uintptr_t>(start), huge_page_bytes) -
                           reinterpret_cast<std::uintptr_t>(start);
  if (head > 0) ::munmap(start, head);
  if (head < huge_page_bytes) ::munmap(start + head + size, huge_page_bytes - head);
  ::madvise(start + head, size / huge_page_bytes * huge_page_bytes,
            pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // advice, which kernels may ignore
  return start + head;
}

}  // namespace

Buffer::Buffer(Device device, std::size_t bytes, Pages pages)
    : bytes_(bytes), device_(device), pages_(pages) {
  if (bytes == 0) return;
  if (device != Device::host()) {
    data_ = accelerator().allocate(device, bytes);
    return;
  }
  if (pages == Pages::pinned) {
    data_ = accelerator().allocate_pinned(bytes);
    return;
  }
  data_ = bytes < large_bytes ? allocate_small(bytes) : allocate_large(bytes, pages);
}

void Buffer::clear() {
  DT_CHECK(device_ == Device::host(), "{} of memory on {} are cleared by the host", bytes_,
           device_.to_string());
  const bool gives_back = pages_ == Pages::sparse && bytes_ >= large_bytes;
  if (gives_back && ::madvise(data_, round_up(bytes_, page_bytes), MADV_DONTNEED) == 0) return;
  if (data_ != nullptr) std::memset(data_, 0, bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      device_(other.device_),
      pages_(other.pages_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  std::swap(pages_, other.pages_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  const bool waits = device_ != Device::host() || pages_ == Pages::pinned;  // freeing waits for the device
  if (waits && DeferredFree::is_active()) {
    DeferredFree::defer(std::move(*this));
  } else if (device_ != Device::host()) {
    accelerator().release(device_, data_);
  } else if (pages_ == Pages::pinned) {
    accelerator().release_pinned(data_);
  } else if (bytes_ < large_bytes) {
    std::free(data_);
  } else {
    ::munmap(data_, round_up(bytes_, page_bytes));
  }
}

constinit thread_local DeferredFree* DeferredFree::current_ = nullptr;

DeferredFree::DeferredFree() : outer_(std::exchange(current_, this)) {}

DeferredFree::~DeferredFree() {
  current_ = outer_;
}

std::size_t DeferredFree::bytes() const {
  std::size_t total = 0;
  for (const Buffer& buffer : buffers_) total += buffer.bytes();
  return total;
}

void DeferredFree::free() {
  DeferredFree* const inner = std::exchange(current_, outer_);
  buffers_.clear();
  current_ = inner;
}

}  // namespace dt
