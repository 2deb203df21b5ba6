#pragma once
// Decides which operations of a rank's transports may begin, and which of their sequences.

#include <atomic>
#include <cstddef>
#include <list>
#include <map>
#include <vector>

#include "comm/core/operation.hpp"
#include "comm/core/transport.hpp"

namespace dt::comm {

/// The transports that have operations under way. All ranks begin a transport's operations, lane by
/// lane, and the operations' sequences in the same order. So the oldest sequence that is not done is under
/// way on all ranks.
/// Thread safety: one thread at a time, except for is_empty().
class ActiveTransports {
 public:
  /// The number of tags of an operation's messages. Sequences that share a tag are not under way together.
  static constexpr std::size_t num_chain_tags = 256;

  /// Adds an operation. Begins it, unless it has a device or others of its lane wait.
  /// Errors: internal, more operations of the group are under way than there are tags.
  void add(Operation& operation);
  /// Removes an operation that is done or cancelled.
  void remove(Operation& operation);
  /// Returns whether no operation is under way.
  /// Thread safety: any thread may call it.
  bool is_empty() const { return num_operations_ == 0; }
  /// Calls progress() of each transport.
  void progress() const;

  /// Begins an operation if it may begin and has not. Returns whether it has begun.
  /// Errors: as add().
  bool begin(Operation& operation);
  /// Returns whether an operation waits for its device, or is behind one that does.
  bool some_wait_for_a_device() const;
  /// Returns whether the operation's next sequence may begin.
  bool may_begin_sequence(const Operation& operation);
  /// Counts the operation's next sequence as under way. Returns the sequence's number.
  std::size_t begin_sequence(Operation& operation);
  /// Counts a sequence as done.
  void end_sequence(const Operation& operation);

 private:
  struct ActiveTransport {
    Transport* transport;
    int num_operations = 0;
    int num_begun = 0;
    // By lane: an operation that waits for its device, and all behind it.
    std::map<int, std::list<Operation*>> to_begin = {};
    std::size_t bytes_in_flight = 0;             // by operations that take turns
    std::list<Operation*> still_beginning = {};  // operations with sequences to begin
  };

  ActiveTransport& active_of(const Operation& operation);
  static void count_begun(Operation& operation, ActiveTransport& active);

  std::vector<ActiveTransport> active_;
  std::atomic<int> num_operations_ = 0;
};

}  // namespace dt::comm
