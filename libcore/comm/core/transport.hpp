#pragma once
// The interface of a backend: messages between the ranks of a group, started at once and completed by
// progress().

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace dt::comm {

/// Counts the transfers of one caller that are under way; zero when all are done. Another rank's thread
/// may count it down.
using Pending = std::atomic<int>;

/// Bits of a tag. The narrowest MPI in use, Intel MPI, leaves 19 or 20, Cray MPICH 21, Open MPI 23.
inline constexpr int tag_bits = 19;

/// Messages between ranks 0 … size−1. Messages between two ranks under one tag are matched in
/// order: the k-th send with the k-th receive.
/// Thread safety: calls of one object come from one thread at a time (the engine's lock).
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Starts to send. The call counts `pending` up, and the end of the transfer counts it down;
  /// until then the buffer must stay valid. A send may wait for its receive (rendezvous).
  virtual void send(int to, int tag, std::span<const std::byte> bytes, Pending& pending) = 0;
  /// Starts to receive, with `pending` as in send(). The message must be exactly as long as `bytes`.
  virtual void receive(int from, int tag, std::span<std::byte> bytes, Pending& pending) = 0;
  /// Completes what can be completed. Never blocks.
  /// Errors: environment, a peer failed; internal, a message has another length than its receiver
  /// expects.
  virtual void progress() = 0;
  /// Takes back this counter's transfers. Returns true if their buffers will not be touched again.
  /// Returns false if that is impossible. Then this object must not be used any more, and the
  /// buffers must stay valid.
  virtual bool withdraw(Pending& pending) noexcept = 0;
  /// Pauses a rank that has waited in vain for `waited_s`; may sleep for an instant. Called without the
  /// engine's lock.
  virtual void idle(double waited_s) = 0;
  /// Wakes `count` ranks from `first` on, which may wait in idle() for what this rank has done in shared
  /// memory.
  virtual void notify(int /*first*/, int /*count*/) {}
  /// Splits the group. Ranks of one color (from 0) form a group, ordered by key, then by rank.
  /// `members` lists the ranks of this rank's new group. Returns null if this rank has no color.
  /// Collective: all ranks call it; blocks.
  virtual std::unique_ptr<Transport> split(std::optional<int> color, int key,
                                           std::span<const int> members) = 0;
};

}  // namespace dt::comm
