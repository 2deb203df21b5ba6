#include "train/step/pinned_rows.hpp"

#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace dt::train {

PinnedUploader::PinnedUploader(const Context& context)
    : context_(context),
      pool_(std::make_shared<comm::StagingPool>(Pages::pinned, std::numeric_limits<std::size_t>::max())) {}

PinnedUploader::~PinnedUploader() {
  try {
    if (!in_flight_.empty()) context_.synchronize();
  } catch (const std::exception&) {
    // A failed device no longer reads the memory. A device that hangs keeps it.
  }
}

void PinnedUploader::copy(std::span<const Tensor> rows, const Tensor& there) {
  std::erase_if(in_flight_, [](const auto& one) { return one.first->is_complete(); });
  comm::StagingPool::Block block = pool_->acquire(there.bytes());
  std::byte* to = block->data();
  for (const Tensor& values : rows) {
    if (!values) continue;
    std::memcpy(to, values.raw(), values.bytes());
    to += values.bytes();
  }
  DT_CHECK(to == block->data() + there.bytes(), "rows for {} bytes of a device", there.bytes());
  accelerator().copy(context_.stream(), there.raw(), block->data(), there.bytes());
  in_flight_.emplace_back(accelerator().record_event(context_.stream()), std::move(block));
}

}  // namespace dt::train
