#include "comm/core/pinned_ring.hpp"

#include <algorithm>
#include <utility>

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

}  // namespace dt::comm
