#pragma once
// Records every operation of a rank's communicators in a ring buffer, which tells what a rank was
// waiting for when it was last seen.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/core/operation_kind.hpp"
#include "tensor/device/device_clock.hpp"

namespace dt::comm {

/// The record of an operation, equal on all ranks that take part except for group, peer and times. A
/// rank's k-th send to another is received by that rank's k-th receive from it, so both have sequence
/// k.
struct OperationRecord {
  std::int64_t sequence = 0;  // from 1, among the group's collectives or one rank's sends to another
  int group = 0;
  OperationKind kind = OperationKind::barrier;
  std::int64_t bytes = 0;
  int peer = -1;            // rank within the group; sends and receives only
  std::int64_t step = 0;    // step of training
  double started_s = 0;     // monotonic
  double finished_s = 0;    // 0 while under way
  std::int64_t ticket = 0;  // counts this rank's operations, from 1
};

/// Counts of the sends to and receives from another rank of the group that were begun.
struct PeerRecord {
  int peer = -1;
  std::int64_t sends = 0;
  std::int64_t receives = 0;
};

struct GroupRecord {
  std::string name;
  std::vector<int> members;            // global ranks
  std::int64_t started = 0;            // sequence of the newest collective begun
  std::int64_t finished = 0;           // collectives done
  std::vector<PeerRecord> peers = {};  // peers of the sends and receives so far
};

/// Records the operations of one rank. Starting and finishing an operation costs a fraction of a
/// microsecond.
/// Thread safety: safe from several threads; the watchdog reads while the rank works.
class Recorder {
 public:
  static constexpr std::size_t capacity = 1024;
  /// A handle on a record, from 1. It stays valid however many records follow.
  using Ticket = std::int64_t;

  Recorder();
  /// Adds a group. Groups that share members should differ in name, by which ranks recognize each
  /// other's groups.
  int add_group(std::string name, std::vector<int> members);
  /// Records the start of an operation. `bytes` of a collective are the same on all ranks, except for
  /// extents of parts: those that the rank gives. Sends and receives leave the group's sequence alone.
  Ticket start(int group, OperationKind kind, std::int64_t bytes, int peer = -1);
  /// Records the end of an operation. Ignores tickets that are finished already, and 0. `on_stream` is
  /// the time on the stream that carried out the operation, if there is one and it was timed; see
  /// device_clock().
  void finish(Ticket ticket, const std::optional<Interval>& on_stream = std::nullopt);
  void set_step(std::int64_t step);
  /// Sets this rank's role in the training, for messages that blame it: "stage 1 of 2: layers.1 to
  /// head".
  void set_role(std::string duty);
  std::string role() const;

  struct Snapshot {
    double time_s = 0;  // when it was taken, monotonic
    std::int64_t step = 0;
    std::string role;
    std::int64_t operations = 0;  // begun so far
    std::vector<GroupRecord> groups;
    std::vector<OperationRecord> in_flight;  // oldest first, however old
    std::vector<OperationRecord> newest;     // the newest `capacity`, oldest first; under way or done
  };
  Snapshot snapshot() const;
  /// Returns the start of the oldest operation under way, or 0. Cheap.
  double oldest_start_s() const;

  /// Keeps every operation that begins from now on, however many. `clock` is the clock of the device
  /// whose streams carry out operations, or null if none does.
  void start_details(std::shared_ptr<const DeviceClock> clock = nullptr);
  /// Returns the clock by which to time what streams carry out, while operations are kept; otherwise
  /// null.
  std::shared_ptr<const DeviceClock> device_clock() const;
  /// Returns the kept operations that have ended, in the order of their ends, and stops keeping.
  std::vector<OperationRecord> take_details();

  /// Returns the bytes of this rank's operations of a kind, since the beginning.
  std::int64_t bytes(OperationKind kind) const;
  /// Counts a message that this rank begins to send.
  void count_message(std::size_t bytes) { message_bytes_ += static_cast<std::int64_t>(bytes); }
  /// Returns the bytes that this rank has sent in messages, whatever operations they were parts of.
  /// Bytes that pass through memory shared by ranks do not count.
  std::int64_t message_bytes() const { return message_bytes_; }

 private:
  struct DetailedRecords {
    Ticket last_before = 0;
    std::shared_ptr<const DeviceClock> clock;
    std::vector<OperationRecord> records;
  };

  mutable std::mutex mutex_;
  std::int64_t step_ = 0;
  std::string role_;
  Ticket newest_ = 0;
  std::vector<GroupRecord> groups_;
  std::vector<OperationRecord> ring_;       // ticket t lies at t mod capacity
  std::vector<OperationRecord> in_flight_;  // in the order of tickets
  std::array<std::int64_t, num_operation_kinds> bytes_by_kind_{};
  std::optional<DetailedRecords> detailed_;
  std::atomic<std::int64_t> message_bytes_ = 0;
};

/// Names operations in messages.
struct OperationName {
  OperationKind kind = OperationKind::barrier;
  std::string group{};
  std::int64_t sequence = 0;  // among the group's, from 1; 0: a send or receive
  std::int64_t bytes = 0;
  int peer = -1;  // sends and receives only
};

/// Returns "all_reduce 7 of 4096 bytes in group data".
std::string to_string(const OperationName& name);

}  // namespace dt::comm
