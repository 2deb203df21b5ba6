#pragma once
// What a backend is: messages between the ranks of a group, started at once and completed by progress().

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace dt::comm {

/// Transfers of one caller that are under way; zero when all are done. Another rank's thread may count it
/// down.
using Pending = std::atomic<int>;

/// Tags have so many bits; the narrowest MPI transport in use leaves 23.
inline constexpr int tag_bits = 21;

/// Ranks 0 … size−1. Messages between two ranks under one tag are matched in the order in which they were
/// sent and in which they were asked for. Calls of one object come from one thread at a time (the engine's
/// lock).
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Start a transfer: `pending` is counted up here and down when the transfer is done; until then the buffer
  /// must stay. A send may wait for its receive (rendezvous).
  virtual void send(int to, int tag, std::span<const std::byte> bytes, Pending& pending) = 0;
  /// The message must be exactly as long as `bytes`.
  virtual void receive(int from, int tag, std::span<std::byte> bytes, Pending& pending) = 0;
  /// Completes what can be completed; never blocks. Errors: environment where a peer failed; internal where
  /// a message has another length than its receiver expects.
  virtual void progress() = 0;
  /// Takes back this counter's transfers. True: their buffers will not be touched again. False where that
  /// cannot be had: this object must not be used any more, and the buffers should stay.
  virtual bool withdraw(Pending& pending) noexcept = 0;
  /// Called, without the engine's lock, by a rank that has waited in vain for so long; may sleep for an
  /// instant.
  virtual void idle(double waited_s) = 0;
  /// This rank has done something in shared memory that others may be waiting for in idle().
  virtual void notify() {}
  /// Called by all ranks together. Those of one colour (from 0) form a group, ordered by key, then by rank:
  /// `members` says which they are for this rank. Null where it has no colour.
  virtual std::unique_ptr<Transport> split(std::optional<int> color, int key,
                                           std::span<const int> members) = 0;
};

}  // namespace dt::comm
