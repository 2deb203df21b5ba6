#include "tensor/retired.hpp"

#include <utility>

namespace dt {

constinit thread_local RetiredMemory* RetiredMemory::current_ = nullptr;

RetiredMemory::RetiredMemory() : outer_(std::exchange(current_, this)) {}

RetiredMemory::~RetiredMemory() {
  current_ = outer_;
}

std::size_t RetiredMemory::bytes() const {
  std::size_t total = 0;
  for (const Buffer& buffer : buffers_) total += buffer.bytes();
  return total;
}

void RetiredMemory::free() {
  RetiredMemory* const inner = std::exchange(current_, outer_);
  buffers_.clear();
  current_ = inner;
}

}  // namespace dt
