#pragma once
// Memory that ranks on one host share. Operations on it cost neither messages nor system calls.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "comm/node/shared_memory.hpp"

namespace dt::comm {

/// A window with four slots for each rank, used in turn. What passes through a window is cut into
/// segments, numbered in the order in which the group's operations are called. Segment g takes the
/// slots g mod 4 of all ranks, in three steps. No step begins before every rank has done the step
/// before. First a rank fills its own slot. Then it reads others' slots; results that will be
/// gathered replace there what was reduced. Last it reads its own slot again. A rank never touches
/// another's buffers, so no rank is left in the buffers of an operation that another rank cancels.
///
/// The first rank makes the window and offers it to the others (see Locality).
class NodeWindow {
 public:
  static constexpr int max_ranks = 64;

  enum class Step : std::uint64_t { copy, reduce, gather };

  using Offer = SharedMemory::Offer;

  /// `notify` wakes the other ranks. A rank calls it when it is the last to finish a step, for which
  /// they may wait. If several finish last at once, more than one of them may call it.
  NodeWindow(int rank, int size, std::function<void()> notify = {});
  NodeWindow(const NodeWindow&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Makes the memory. The first rank calls it.
  Offer make() { return memory_.make(); }
  /// Maps the memory that the first rank offers. Returns whether this rank now has it, too.
  bool accept(const Offer& offer) { return memory_.accept(offer); }
  /// Ends the offer: all ranks have the memory, or no rank will want it.
  void close_offer() { memory_.close_offer(); }

  /// Returns the bytes of one rank's range of a segment, in whole cache lines.
  std::size_t piece_bytes() const { return piece_bytes_; }
  static std::size_t piece_bytes_of(int size);
  static constexpr std::size_t num_slots = 4;
  /// Reserves consecutive numbers for an operation's segments, and returns the first.
  /// Collective: all ranks call it in the same order; never blocks.
  std::uint64_t allot(std::size_t num_segments);

  /// Returns whether every rank has finished all steps before `step` of this segment. Never blocks.
  /// Errors: those of throw_if_broken().
  bool may_begin(Step step, std::uint64_t segment) const;
  /// Announces that this rank has finished the step, and those before it.
  void finish(Step step, std::uint64_t segment);
  /// Announces that this rank, which has not yet finished the segment, no longer touches others'
  /// slots of it. The others may fill their slots again as soon as they have read them.
  void leave(std::uint64_t segment);
  /// Records which operation's content this rank's slot has. Call before the first step is
  /// finished.
  void describe(std::uint64_t segment, std::uint64_t content);
  /// Checks that all ranks' slots have this content. Call in the step after the first.
  /// Errors: internal, another rank has recorded other content.
  void check_content(std::uint64_t segment, std::uint64_t content) const;
  /// Returns the memory of a rank's piece of `owner`'s range in its slot.
  std::byte* piece(int rank, std::uint64_t segment, int owner) const;

  /// Records that an operation has ended half-way on this rank, whose slots will never be free
  /// again.
  void cancel() { is_broken_ = true; }
  /// Throws if an operation has ended half-way on this rank.
  /// Errors: environment.
  void throw_if_broken() const;

 private:
  struct Flag;  // one per slot and rank
  Flag& flag(int rank, std::uint64_t segment) const;
  void publish(std::uint64_t segment, std::uint64_t steps);
  bool have_all_done(std::uint64_t segment, std::uint64_t steps) const;

  int rank_;
  int size_;
  std::size_t piece_bytes_;
  std::size_t flags_bytes_;
  SharedMemory memory_;
  std::function<void()> notify_;
  bool is_broken_ = false;
  std::uint64_t next_segment_ = 0;
  std::array<std::uint64_t, num_slots> own_steps_done_{};  // others see these counts or higher ones
};

/// Throws the error that later operations of the group meet.
/// Errors: environment, always.
[[noreturn]] void throw_cancelled();

}  // namespace dt::comm
