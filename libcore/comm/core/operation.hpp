#pragma once
// Describes a collective or a message as sequences of rounds of transfers, which the engine runs.

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/core/device_side.hpp"
#include "comm/core/recorder.hpp"
#include "comm/core/transport.hpp"

namespace dt::comm {

/// Transfers that are started together, the action `meanwhile` that follows at once, and the action `then`
/// that follows when all are done. If `ready` is set, it must return true, too, before `then` is called; it
/// checks what other ranks have done in shared memory, and they wake this rank once it is true
/// (Transport::notify). `ready` is called often, must not block, and stays true.
struct Round {
  struct Transfer {
    int peer;
    std::span<std::byte> bytes;
    bool is_send;
  };
  std::vector<Transfer> transfers;
  std::function<void()> meanwhile = {};
  std::function<bool()> ready = {};
  std::function<void()> then = {};
};

/// A function that makes the rounds of a sequence, each when the round before is done. Returns false
/// if there is no round `index`. A rank's sends to a peer along a sequence match the peer's receives
/// in order. A sequence's staging memory lives from just before its first round to the end of its
/// last.
using RoundSequence = std::function<bool(int index, Round& round)>;

/// A started operation: round sequences that run side by side, at most `window` at once. Sequence c of every
/// rank of the group exchanges messages with sequence c of the others.
struct Operation : OperationName {
  enum class State { under_way, done, given_up };
  struct Running {
    std::size_t number = 0;  // the sequence's number
    RoundSequence rounds;
    int next_round = 0;
    Round current;
    Pending pending = 0;
  };

  Transport* transport = nullptr;
  int tag = 0;  // the sequence's number, below 2^8, is added to it
  std::function<RoundSequence(std::size_t number)> make_sequence;
  std::size_t num_sequences = 0;
  std::size_t window = 4;
  // Sequences of a transport's operations take turns, oldest first. At most bucket_bytes are under way
  // at a time (0: no limit). Each sequence takes sequence_bytes of them (0: the sequence takes no turns).
  std::size_t sequence_bytes = 0;
  std::size_t bucket_bytes = 0;
  /// Present if the operation's tensors lie on a device. The operation begins once may_begin() allows
  /// it, and operations behind it in its lane begin later.
  std::shared_ptr<DeviceSide> device = {};
  bool is_paced() const { return sequence_bytes > 0 && bucket_bytes > 0; }
  /// Returns the operation's lane. Operations of a lane begin in the order of calls, so that
  /// messages of one are not taken for another's. Later operations also wait for memory of earlier
  /// ones. The sends to each peer are a lane, the receives from each peer are a lane, and all other
  /// operations of the group are one.
  int lane() const { return peer < 0 ? 0 : 1 + 2 * peer + (kind == OperationKind::send ? 0 : 1); }

  Recorder::Ticket ticket = 0;
  /// The number of unfinished operations that share the ticket, if they are the chunks of one.
  std::shared_ptr<int> num_unfinished{};
  /// Counts this operation as done. Returns whether the ticket's operation is done with it.
  bool ends_ticket() const { return !num_unfinished || --*num_unfinished == 0; }

  // The members below belong to the engine.
  bool has_begun = false;
  std::list<Running> running;
  std::size_t next_sequence = 0;
  double started_s = 0;
  double deadline_s = 0;
  std::atomic<State> state = State::under_way;

  bool is_done() const { return state == State::done; }
};

}  // namespace dt::comm
