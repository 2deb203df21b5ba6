#include "comm/threads/hub.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.hpp"

namespace dt::comm {

namespace {

using namespace std::chrono_literals;

// A peer that runs on another core answers within this time, and waking up takes longer.
constexpr double spin_s = 20e-6;

Error failure_of(int rank, const std::string& message) {
  return Error(ErrorKind::environment, fmt::format("rank {} failed", rank), message);
}

}  // namespace

ThreadWorld::ThreadWorld(int size) : bells_(static_cast<std::size_t>(size)) {}

void ThreadWorld::fail(int rank, const std::string& message) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_rank_ >= 0) return;
    message_ = message;
    failed_rank_ = rank;
  }
  for (std::size_t r = 0; r < bells_.size(); ++r) ring(static_cast<int>(r));
}

void ThreadWorld::throw_if_failed(int rank) const {
  if (failed_rank_ < 0 || failed_rank_ == rank) return;
  const std::lock_guard lock(mutex_);
  throw failure_of(failed_rank_, message_);
}

void ThreadWorld::ring(int rank) {
  Bell& bell = bells_[static_cast<std::size_t>(rank)];
  {
    const std::lock_guard lock(bell.mutex);
    ++bell.times;
  }
  bell.rung.notify_all();
}

std::int64_t ThreadWorld::listen(int rank, std::int64_t heard) {
  Bell& bell = bells_[static_cast<std::size_t>(rank)];
  std::unique_lock lock(bell.mutex);
  bell.rung.wait_for(lock, 1ms, [&] { return bell.times != heard; });
  return bell.times;
}

Hub::Hub(std::shared_ptr<ThreadWorld> world, std::vector<int> members)
    : world_(std::move(world)), members_(std::move(members)), mailboxes_(members_.size()) {}

/// Takes the oldest counterpart, or leaves `posted` where its counterpart will look.
bool Hub::match(int to, const Posted& posted, bool is_send, Posted& found) {
  Mailbox& box = mailboxes_[static_cast<std::size_t>(to)];
  const std::lock_guard lock(box.mutex);
  std::vector<Posted>& counterparts = is_send ? box.receives : box.sends;
  const auto place = std::find_if(counterparts.begin(), counterparts.end(), [&](const Posted& candidate) {
    return candidate.from == posted.from && candidate.tag == posted.tag;
  });
  if (place == counterparts.end()) {
    ++*posted.pending;
    (is_send ? box.sends : box.receives).push_back(posted);
    return false;
  }
  const std::size_t sent = is_send ? posted.bytes : place->bytes;
  const std::size_t expected = is_send ? place->bytes : posted.bytes;
  if (sent != expected) fail_lengths(posted.from, to, sent, expected, is_send);
  found = *place;
  counterparts.erase(place);
  return true;
}

void Hub::fail_lengths(int from, int to, std::size_t sent, std::size_t expected, bool is_send) {
  const int sender = world_rank(from);
  const int receiver = world_rank(to);
  const Error error(ErrorKind::internal, fmt::format("rank {} expects {} bytes of rank {}, which sends {}",
                                                     receiver, expected, sender, sent));
  world_->fail(is_send ? sender : receiver, error.message());
  throw error;
}

/// Copies, and counts down last: then the counter's owner may free the buffer.
void Hub::complete(int to, const Posted& send, const Posted& receive) {
  if (send.bytes > 0) std::memcpy(receive.data, send.data, send.bytes);
  --*send.pending;
  --*receive.pending;
  world_->ring(world_rank(to));
  world_->ring(world_rank(send.from));
}

void Hub::send(int from, int to, int tag, std::span<const std::byte> bytes, Pending& pending) {
  const Posted posted{from, tag, const_cast<std::byte*>(bytes.data()), bytes.size(), &pending};
  Posted found{};
  if (!match(to, posted, true, found)) return;
  ++pending;
  complete(to, posted, found);
}

void Hub::receive(int from, int to, int tag, std::span<std::byte> bytes, Pending& pending) {
  const Posted posted{from, tag, bytes.data(), bytes.size(), &pending};
  Posted found{};
  if (!match(to, posted, false, found)) return;
  ++pending;
  complete(to, found, posted);
}

void Hub::withdraw(Pending& pending) {
  const auto is_of_pending = [&](const Posted& posted) { return posted.pending == &pending; };
  for (Mailbox& box : mailboxes_) {
    const std::lock_guard lock(box.mutex);
    pending -= static_cast<int>(std::erase_if(box.sends, is_of_pending));
    pending -= static_cast<int>(std::erase_if(box.receives, is_of_pending));
  }
  // The transfers that are left have been matched: the counterpart is copying.
  while (pending > 0) std::this_thread::yield();
}

std::shared_ptr<Hub> Hub::subgroup(int number, int color, std::span<const int> ranks) {
  const std::lock_guard lock(subgroups_mutex_);
  std::shared_ptr<Hub>& hub = subgroups_[{number, color}];
  if (!hub) {
    std::vector<int> members;
    for (const int rank : ranks) members.push_back(world_rank(rank));
    hub = std::make_shared<Hub>(world_, std::move(members));
  }
  return hub;
}

ThreadTransport::ThreadTransport(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}

void ThreadTransport::send(int to, int tag, std::span<const std::byte> bytes, Pending& pending) {
  hub_->send(rank_, to, tag, bytes, pending);
}

void ThreadTransport::receive(int from, int tag, std::span<std::byte> bytes, Pending& pending) {
  hub_->receive(from, rank_, tag, bytes, pending);
}

void ThreadTransport::progress() {
  hub_->world().throw_if_failed(hub_->world_rank(rank_));
}

bool ThreadTransport::withdraw(Pending& pending) noexcept {
  hub_->withdraw(pending);
  return true;
}

void ThreadTransport::idle(double waited_s) {
  if (waited_s < spin_s) {
    std::this_thread::yield();
  } else {
    heard_ = hub_->world().listen(hub_->world_rank(rank_), heard_);
  }
}

void ThreadTransport::notify() {
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != rank_) hub_->world().ring(hub_->world_rank(rank));
  }
}

std::unique_ptr<Transport> ThreadTransport::split(std::optional<int> color, int /*key*/,
                                                  std::span<const int> members) {
  const int number = num_splits_++;  // ranks in no group count, too, so that all number splits alike
  if (!color) return {};
  const auto place = std::find(members.begin(), members.end(), rank_);
  return std::make_unique<ThreadTransport>(hub_->subgroup(number, *color, members),
                                           static_cast<int>(place - members.begin()));
}

}  // namespace dt::comm
