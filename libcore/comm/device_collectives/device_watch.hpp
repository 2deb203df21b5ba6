#pragma once
// Watches operations that streams carry out by themselves, and notices when they end, fail or are
// late.

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/core/recorder.hpp"
#include "comm/core/transport.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "tensor/device/device_clock.hpp"

namespace dt::comm {

/// An operation that was enqueued on a stream.
struct StreamOperation {
  std::string text;  // its name in messages: "all_reduce 7 of 4096 bytes in group data"
  std::vector<Recorder::Ticket> tickets{};
  Transport* control = nullptr;  // transport of the group's messages, which hears of ranks that fail
  std::unique_ptr<Event> end;
  std::unique_ptr<StreamTimer> span{};  // present if its time is taken
  double started_s = 0;
  double deadline_s = 0;  // 0: none
  std::atomic<bool> is_done = false;
  std::atomic<bool> is_followed = false;  // later work of a context waits for it
};

/// Watches the stream operations of all groups of a rank.
/// Thread safety: safe from several threads.
class StreamWatch {
 public:
  explicit StreamWatch(std::shared_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {}
  StreamWatch(const StreamWatch&) = delete;

  void join(DeviceTransport& transport);
  /// Stops watching a transport. Call before it is destroyed.
  void leave(DeviceTransport& transport) noexcept;
  /// Returns whether an operation of the transport is under way, as of the last look.
  bool has(DeviceTransport& transport);
  void add(DeviceTransport& transport, std::shared_ptr<StreamOperation> operation);
  bool is_idle() const { return num_operations_ == 0; }
  /// Marks operations that have ended as done. Cheap; never blocks.
  /// Errors: environment, what a transport or an event throws, or a group's oldest operation is late
  /// (the error names it).
  void poll();
  /// Aborts all transports, so that their streams come to an end.
  void abort() noexcept;

 private:
  /// A group's operations, the oldest first; they end in this order.
  using Queue = std::deque<std::shared_ptr<StreamOperation>>;
  void done(StreamOperation& operation, const std::optional<Interval>& times = std::nullopt);
  void poll(DeviceTransport& transport, Queue& queue);
  [[noreturn]] void throw_late(const StreamOperation& operation, double now_s) const;

  std::shared_ptr<Recorder> recorder_;
  std::recursive_mutex mutex_;
  std::map<DeviceTransport*, Queue> in_flight_;
  std::atomic<int> num_operations_ = 0;
};

}  // namespace dt::comm
