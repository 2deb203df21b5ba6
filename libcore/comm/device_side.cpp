#include "comm/device_side.hpp"

#include <limits>

#include "base/error.hpp"

namespace dt::comm {

DeviceLink::DeviceLink(const Context& context)
    : device_(context.device()),
      compute_(context.stream()),
      pool_(std::make_shared<StagingPool>(Pages::pinned, std::numeric_limits<std::size_t>::max())),
      down_(device_, "copying to the host"),
      up_(device_, "copying from the host") {}

StagingPool::Block DeviceLink::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::erase_if(leaving_, [](const auto& one) { return one.first->is_reached(); });
  return pool_->take(bytes);
}

void DeviceLink::give_after(std::shared_ptr<Mark> mark, StagingPool::Block block) {
  const std::lock_guard lock(mutex_);
  leaving_.emplace_back(std::move(mark), std::move(block));
}

bool DeviceLink::is_reached(Mark& mark) {
  const std::lock_guard lock(mutex_);
  return mark.is_reached();
}

DeviceSide::DeviceSide(std::shared_ptr<DeviceLink> link, std::int64_t numel, const Access& in,
                       const Access& out)
    : link_(std::move(link)), target_(out.tensor), writes_(out.is_used && target_.numel() > 0) {
  const DType dtype = in.tensor.dtype();
  block_ = link_->take(static_cast<std::size_t>(numel) * dtype_bytes(dtype));
  const Tensor all(*block_, dtype, Shape{numel});
  in_ = all.flat(in.begin, in.tensor.numel());
  out_ = all.flat(out.begin, out.tensor.numel());
  if (!in.is_used || in_.numel() == 0) {
    // Nothing that the host waits for comes after what was computed with the memory until now.
    if (writes_) accelerator().follow(link_->up_, link_->compute_);
    return;
  }
  accelerator().follow(link_->down_, link_->compute_);
  accelerator().copy(link_->down_, in_.raw(), in.tensor.raw(), in_.bytes());
  read_ = accelerator().mark(link_->down_);
}

bool DeviceSide::may_begin() {
  if (read_ && !link_->is_reached(*read_)) return false;
  read_.reset();
  return true;
}

void DeviceSide::finish() {
  if (!writes_) return block_.reset();
  accelerator().copy(link_->up_, target_.raw(), out_.raw(), out_.bytes());
  written_ = accelerator().mark(link_->up_);
  link_->give_after(written_, std::move(block_));
}

bool DeviceSide::is_over() {
  return !written_ || link_->is_reached(*written_);
}

void DeviceSide::stop() noexcept {
  if (!read_) return;
  try {
    accelerator().wait(link_->down_);
  } catch (const std::exception&) {
    // A device that has failed does nothing any more, and to one that hangs its memory is left; whoever uses
    // it next is told.
  }
  read_.reset();
}

void DeviceSide::order(const Context& context) const {
  if (writes_) accelerator().follow(context.stream(), link_->up_);
}

}  // namespace dt::comm
