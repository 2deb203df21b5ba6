#pragma once
// Passes messages between ranks that are threads.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "comm/core/transport.hpp"

namespace dt::comm {

/// The state that all threads of a run share: the rank that has failed, and a bell for each rank. A
/// rank's bell rings when one of its transfers is done.
class ThreadWorld {
 public:
  explicit ThreadWorld(int size);

  /// Records a failure. The first one is kept.
  void fail(int rank, const std::string& message);
  int failed_rank() const { return failed_rank_; }  // −1: none
  /// Throws if another rank has failed.
  /// Errors: environment, "rank r failed".
  void throw_if_failed(int rank) const;

  void ring(int rank);
  /// Sleeps until the bell rings once more than `heard` says, a millisecond at most. Returns the
  /// value to pass as `heard` next time.
  std::int64_t listen(int rank, std::int64_t heard);

 private:
  struct Bell {
    std::mutex mutex;
    std::condition_variable rung;
    std::int64_t times = 0;
  };
  std::vector<Bell> bells_;
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
  void fail_lengths(int from, int to, std::size_t sent, std::size_t expected, bool is_send);

  std::shared_ptr<ThreadWorld> world_;
  std::vector<int> members_;
  std::vector<Mailbox> mailboxes_;
  std::mutex subgroups_mutex_;
  std::map<std::pair<int, int>, std::shared_ptr<Hub>> subgroups_;
};

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
  void notify() override;
  std::unique_ptr<Transport> split(std::optional<int> color, int key, std::span<const int> members) override;

 private:
  std::shared_ptr<Hub> hub_;
  int rank_;
  int num_splits_ = 0;
  std::atomic<std::int64_t> heard_ = 0;
};

}  // namespace dt::comm
