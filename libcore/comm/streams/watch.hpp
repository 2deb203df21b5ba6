#pragma once
// Operations that streams carry out by themselves: somebody must look whether they end.

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/recorder.hpp"
#include "comm/streams/transport.hpp"
#include "comm/transport.hpp"
#include "tensor/device_clock.hpp"

namespace dt::comm {

/// One that was enqueued.
struct StreamOperation {
  std::string text;  // what messages call it: "all_reduce 7 of 4096 bytes in group data"
  std::vector<Recorder::Ticket> tickets{};
  Transport* control = nullptr;  // of the group's messages, which hears of ranks that fail
  std::unique_ptr<Mark> end;
  std::unique_ptr<TimedSpan> span{};  // where its time is taken
  double started_s = 0;
  double deadline_s = 0;  // 0: none
  std::atomic<bool> is_done = false;
  std::atomic<bool> is_followed = false;  // what was computed after it comes after it
};

/// Of all groups of a rank. Thread-safe.
class StreamWatch {
 public:
  explicit StreamWatch(std::shared_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {}
  StreamWatch(const StreamWatch&) = delete;

  void join(StreamTransport& transport);
  /// Before it goes.
  void leave(StreamTransport& transport) noexcept;
  /// Whether something of it is under way, as far as was looked.
  bool has(StreamTransport& transport);
  void add(StreamTransport& transport, std::shared_ptr<StreamOperation> operation);
  bool is_idle() const { return num_operations_ == 0; }
  /// Takes note of those that have ended; cheap, never blocks. Errors: environment: what a transport says, or
  /// a mark; the oldest of a group whose time is up, naming it.
  void look();
  /// Aborts all transports, so that their streams come to an end.
  void abort() noexcept;

 private:
  /// The oldest of a group first: they end in this order.
  using Queue = std::deque<std::shared_ptr<StreamOperation>>;
  void done(StreamOperation& operation, const std::optional<Interval>& times = std::nullopt);
  void look(StreamTransport& transport, Queue& queue);
  [[noreturn]] void throw_late(const StreamOperation& operation, double now_s) const;

  std::shared_ptr<Recorder> recorder_;
  std::recursive_mutex mutex_;
  std::map<StreamTransport*, Queue> under_way_;
  std::atomic<int> num_operations_ = 0;
};

}  // namespace dt::comm
