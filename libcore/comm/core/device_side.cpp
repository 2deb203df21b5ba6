#include "comm/core/device_side.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace dt::comm {

bool PinnedRing::Turn::has_begun() {
  if (before_ && before_->is_finished()) before_.reset();
  return before_ == nullptr;
}

void PinnedRing::Turn::leave(std::shared_ptr<Event> last) {
  is_left_ = true;
  last_ = std::move(last);
}

bool PinnedRing::Turn::is_finished() {
  if (!is_left_ || !has_begun()) return false;
  if (last_ && last_->is_complete()) last_.reset();
  return last_ == nullptr;
}

/// Returns a free place if there is one; otherwise each place in turn.
std::size_t PinnedRing::next_place() {
  const auto free =
      std::ranges::find_if(newest_, [](const auto& turn) { return !turn || turn->is_finished(); });
  if (free != newest_.end()) return static_cast<std::size_t>(free - newest_.begin());
  return newest_.size() < most_turns_ ? newest_.size() : (last_place_ + 1) % most_turns_;
}

std::shared_ptr<PinnedRing::Turn> PinnedRing::take(std::size_t bytes) {
  largest_ = std::max(largest_, bytes);
  const std::size_t place = next_place();
  if (place == newest_.size()) newest_.emplace_back();
  std::shared_ptr<Turn>& newest = newest_[place];
  const bool fits = newest && newest->memory()->bytes() >= bytes;
  StagingPool::Block memory = fits ? newest->memory() : nullptr;
  if (!fits && newest && newest->is_finished()) newest.reset();  // freed before more is allocated
  if (!fits) memory = pool_->acquire(largest_);
  last_place_ = place;
  return newest = std::make_shared<Turn>(std::move(memory), std::move(newest));
}

namespace {

void drop_empty(std::vector<StagedRange>& spans) {
  std::erase_if(spans, [](const StagedRange& span) { return span.there.numel() == 0; });
}

}  // namespace

DeviceLink::DeviceLink(const Context& context, const PinnedLimits& limits)
    : device_(context.device()),
      compute_(context.stream()),
      limits_(limits),
      pool_(std::make_shared<StagingPool>(Pages::pinned, 0)),
      down_(device_, "copying to the host"),
      up_(device_, "copying from the host") {}

std::shared_ptr<Event> DeviceLink::mark_computed() const {
  return accelerator().record_event(compute_);
}

std::shared_ptr<PinnedRing::Turn> DeviceLink::take(const Lane& lane, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  return rings_.try_emplace(lane, pool_, limits_.max_host_bytes).first->second.take(bytes);
}

DeviceSide::DeviceSide(std::shared_ptr<DeviceLink> link, const Lane& lane, DType dtype, std::int64_t numel,
                       std::vector<StagedRange> reads, std::vector<StagedRange> writes,
                       std::shared_ptr<Event> computed)
    : link_(std::move(link)),
      turn_(link_->take(lane, static_cast<std::size_t>(numel) * dtype_bytes(dtype))),
      staged_(*turn_->memory(), dtype, Shape{numel}),
      reads_(std::move(reads)),
      writes_(std::move(writes)),
      computed_(std::move(computed)) {
  drop_empty(reads_);
  drop_empty(writes_);
  // The host does not wait for the earlier work that uses the memory, so the copies must wait for
  // it.
  if (reads_.empty() && !writes_.empty()) accelerator().wait_stream(link_->up_, link_->compute_);
  if (reads_.empty()) computed_.reset();
}

bool DeviceSide::has_computed() {
  if (computed_ && computed_->is_complete()) computed_.reset();
  return computed_ == nullptr;
}

bool DeviceSide::is_computed() {
  const std::lock_guard lock(link_->mutex_);
  return has_computed();
}

/// Starts the copies to the host. The caller has checked that the device has computed what is read.
/// If the copies' stream waited for it instead, it would delay the copies of other chunks that
/// are ready.
void DeviceSide::start_reading() {
  for (const StagedRange& span : reads_) {
    const Tensor here = of_host(span);
    accelerator().copy(link_->down_, here.raw(), span.there.raw(), here.bytes());
  }
  if (!reads_.empty()) read_ = accelerator().record_event(link_->down_);
  state_ = State::arriving;
}

bool DeviceSide::may_begin() {
  const std::lock_guard lock(link_->mutex_);
  if (state_ == State::waiting && turn_->has_begun() && has_computed()) start_reading();
  if (state_ == State::arriving && (!read_ || read_->is_complete())) {
    read_.reset();
    state_ = State::begun;
  }
  return state_ == State::begun;
}

void DeviceSide::finish() {
  for (const StagedRange& span : writes_) {
    const Tensor here = of_host(span);
    accelerator().copy(link_->up_, span.there.raw(), here.raw(), here.bytes());
  }
  if (writes()) written_ = accelerator().record_event(link_->up_);
  const std::lock_guard lock(link_->mutex_);
  turn_->leave(written_);
  state_ = State::left;
}

bool DeviceSide::is_finished() {
  const std::lock_guard lock(link_->mutex_);
  return !written_ || written_->is_complete();
}

void DeviceSide::stop() noexcept {
  if (state_ == State::left) return;
  try {
    if (read_) accelerator().synchronize(link_->down_);
  } catch (const std::exception&) {
    // A failed device does nothing any more. The memory of a device that hangs stays allocated, and
    // the device's next user gets the error.
  }
  read_.reset();
  const std::lock_guard lock(link_->mutex_);
  turn_->leave(nullptr);
  state_ = State::left;
}

void DeviceSide::order(const Context& context) const {
  accelerator().wait_stream(context.stream(), link_->up_);
}

}  // namespace dt::comm
