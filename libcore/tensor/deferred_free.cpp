#include "tensor/deferred_free.hpp"

#include <utility>

namespace dt {

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
