#include "comm/threads/thread_group.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <exception>
#include <linux/futex.h>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/system/limits.hpp"
#include "comm/core/transport.hpp"

namespace dt::comm {

namespace {

// A peer that runs on another core answers within this time, and waking up takes longer.
constexpr double spin_s = 20e-6;
// Bells ring for all that a rank waits for, except for deadlines. Where ranks share cores, waits are long,
// and a rank that woke more often would take the others' time.
constexpr timespec longest_sleep{.tv_sec = 0, .tv_nsec = 50'000'000};

/// The state that all threads of a run share: the rank that has failed, and a bell for each rank. A
/// rank's bell rings when the transfers for which it waits together are done, when another rank notifies it,
/// and when a rank fails.
class ThreadWorld {
 public:
  explicit ThreadWorld(int size);

  /// Records a failure. The first one is kept.
  void fail(int rank, const std::string& message);
  int failed_rank() const { return failed_rank_; }  // −1: none
  /// Throws if another rank has failed.
  /// Errors: environment, "rank r failed".
  void throw_if_failed(int rank) const;

  /// Returns whether each rank has a core of its own, so that it holds up no other while it spins.
  bool may_spin() const { return may_spin_; }

  void ring(int rank);
  /// Sleeps until the bell rings once more than `heard` says, but no longer than `longest_sleep`. Returns the
  /// value to pass as `heard` next time.
  std::uint32_t listen(int rank, std::uint32_t heard);

 private:
  /// Holds a futex. A condition variable would take twice as many system calls, in which many ranks that
  /// share a core spend most of their time.
  struct alignas(64) Bell {
    std::atomic<std::uint32_t> times = 0;
    std::atomic<int> num_sleepers = 0;
  };
  std::vector<Bell> bells_;
  const bool may_spin_;
  mutable std::mutex mutex_;
  std::atomic<int> failed_rank_ = -1;
  std::string message_;
};

/// The messages of one group. A transfer that finds its counterpart copies straight from the sender's
/// buffer to the receiver's. Any other is left for its counterpart to find.
class Hub {
 public:
  /// Creates a group of `members`, which are ranks of the world.
  Hub(std::shared_ptr<ThreadWorld> world, std::vector<int> members);

  ThreadWorld& world() { return *world_; }
  int size() const { return static_cast<int>(members_.size()); }
  int world_rank(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  void send(int from, int to, int tag, std::span<const std::byte> bytes, Pending& pending);
  void receive(int from, int to, int tag, std::span<std::byte> bytes, Pending& pending);
  /// Takes back this counter's transfers. On return no thread touches their buffers.
  void withdraw(Pending& pending);

  /// Returns the group that some ranks form in their `number`th split. The first caller makes it.
  std::shared_ptr<Hub> subgroup(int number, int color, std::span<const int> ranks);

 private:
  struct Posted {
    int from;
    int tag;
    std::byte* data;
    std::size_t bytes;
    Pending* pending;
  };
  /// Transfers that wait at one receiver. At most one of the two lists has entries for a sender and a
  /// tag.
  struct Mailbox {
    std::mutex mutex;
    std::vector<Posted> sends;
    std::vector<Posted> receives;
  };

  bool match(int to, const Posted& posted, bool is_send, Posted& found);
  void complete(int to, const Posted& send, const Posted& receive);
  void count_down(int rank, Pending& pending);
  void fail_lengths(int from, int to, std::size_t sent, std::size_t expected, bool is_send);

  std::shared_ptr<ThreadWorld> world_;
  std::vector<int> members_;
  std::vector<Mailbox> mailboxes_;
  std::mutex subgroups_mutex_;
  std::map<std::pair<int, int>, std::shared_ptr<Hub>> subgroups_;
};

/// Passes messages between ranks that are threads.
class ThreadTransport : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Hub> hub, int rank);
  int rank() const override { return rank_; }
  int size() const override { return hub_->size(); }
  void send(int to, int tag, std::span<const std::byte> bytes, Pending& pending) override;
  void receive(int from, int tag, std::span<std::byte> bytes, Pending& pending) override;
  void progress() override;
  bool withdraw(Pending& pending) noexcept override;
  void idle(double waited_s) override;
  void notify(int first, int count) override;
  std::unique_ptr<Transport> split(std::optional<int> color, int key, std::span<const int> members) override;

 private:
  std::shared_ptr<Hub> hub_;
  int rank_;
  int num_splits_ = 0;
  std::atomic<std::uint32_t> heard_ = 0;
};

Error failure_of(int rank, const std::string& message) {
  return Error(ErrorKind::environment, fmt::format("rank {} failed", rank), message);
}

ThreadWorld::ThreadWorld(int size)
    : bells_(static_cast<std::size_t>(size)), may_spin_(size <= available_cores()) {}

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

/// Wakes sleepers only: a rank that is about to sleep counts itself first, and the system then compares
/// `times` with what it has heard.
void ThreadWorld::ring(int rank) {
  Bell& bell = bells_[static_cast<std::size_t>(rank)];
  ++bell.times;
  if (bell.num_sleepers > 0) ::syscall(SYS_futex, &bell.times, FUTEX_WAKE_PRIVATE, INT_MAX);
}

std::uint32_t ThreadWorld::listen(int rank, std::uint32_t heard) {
  Bell& bell = bells_[static_cast<std::size_t>(rank)];
  ++bell.num_sleepers;
  ::syscall(SYS_futex, &bell.times, FUTEX_WAIT_PRIVATE, heard, &longest_sleep);
  --bell.num_sleepers;
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
  const Error error(ErrorKind::internal, fmt::format("rank {} expects {} bytes from rank {}, which sends {}",
                                                     receiver, expected, sender, sent));
  world_->fail(is_send ? sender : receiver, error.message());
  throw error;
}

/// Copies, and counts down last: then the counter's owner may free the buffer.
void Hub::complete(int to, const Posted& send, const Posted& receive) {
  if (send.bytes > 0) std::memcpy(receive.data, send.data, send.bytes);
  count_down(send.from, *send.pending);
  count_down(to, *receive.pending);
}

/// Wakes the rank after the last of the transfers for which it waits together.
void Hub::count_down(int rank, Pending& pending) {
  if (--pending == 0) world_->ring(world_rank(rank));
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
  if (waited_s < spin_s && hub_->world().may_spin()) {
    std::this_thread::yield();
  } else {
    heard_ = hub_->world().listen(hub_->world_rank(rank_), heard_);
  }
}

void ThreadTransport::notify(int first, int count) {
  for (int rank = first; rank < first + count; ++rank) {
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

class ThreadRanks {
 public:
  ThreadRanks(int size, const std::function<int(Communicator&)>& body,
              const std::function<std::string(int rank)>& host_of)
      : body_(body),
        host_of_(host_of),
        world_(std::make_shared<ThreadWorld>(size)),
        results_(static_cast<std::size_t>(size)),
        errors_(results_.size()) {
    std::vector<int> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    hub_ = std::make_shared<Hub>(world_, std::move(members));
  }

  /// Runs all ranks, rank 0 on the calling thread.
  int all() {
    std::vector<std::thread> threads;
    try {
      for (int rank = 1; rank < hub_->size(); ++rank) threads.emplace_back([this, rank] { one(rank); });
    } catch (const std::system_error& error) {
      fail(0, std::make_exception_ptr(thread_error(error.code().value(), hub_->size())));
    }
    one(0);
    for (std::thread& thread : threads) thread.join();
    rethrow_first_error();
    return *std::max_element(results_.begin(), results_.end());
  }

 private:
  void one(int rank) noexcept {
    try {
      Communicator communicator(std::make_unique<ThreadTransport>(hub_, rank),
                                std::make_shared<Engine>(std::make_shared<Recorder>()), "world",
                                host_of_ ? host_of_(rank) : host_name());
      if (world_->failed_rank() < 0) results_[static_cast<std::size_t>(rank)] = body_(communicator);
    } catch (...) {
      fail(rank, std::current_exception());
    }
  }

  void fail(int rank, const std::exception_ptr& error) {
    errors_[static_cast<std::size_t>(rank)] = error;
    world_->fail(rank, words_of(error));
  }

  void rethrow_first_error() const {
    const int first = world_->failed_rank();
    if (first >= 0 && errors_[static_cast<std::size_t>(first)]) {
      std::rethrow_exception(errors_[static_cast<std::size_t>(first)]);
    }
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
  }

  static std::string words_of(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      return e.message();
    } catch (const std::exception& e) {
      return e.what();
    } catch (...) {
      return "an unknown exception";
    }
  }

  const std::function<int(Communicator&)>& body_;
  const std::function<std::string(int rank)>& host_of_;
  std::shared_ptr<ThreadWorld> world_;
  std::shared_ptr<Hub> hub_;
  std::vector<int> results_;
  std::vector<std::exception_ptr> errors_;
};

}  // namespace

int run_threads(int size, const std::function<int(Communicator&)>& body,
                const std::function<std::string(int rank)>& host_of) {
  DT_CHECK(size > 0, "a run needs a rank, not {}", size);
  return ThreadRanks(size, body, host_of).all();
}

}  // namespace dt::comm
