#pragma once
// Memory that ranks on one host share: operations on it cost neither messages nor system calls.

#include <array>
#include <cstddef>
#include <cstdint>

#include "comm/shared_memory.hpp"

namespace dt::comm {

/// For each rank four slots, used in turn. What passes through a window is cut into segments, numbered in the
/// order in which the group's operations are called; segment g takes the slots g mod 4 of all ranks, in three
/// steps, none of which begins before every rank has done the one before: a rank fills its own, reads others'
/// (where results are gathered they take the place of what was reduced), and reads its own again. A rank
/// never sees another's buffers, so an operation that it gives up leaves nobody in them.
///
/// The first rank makes it and offers it to the others (see Locality).
class NodeWindow {
 public:
  static constexpr int max_ranks = 64;

  enum class Step : std::uint64_t { copy, reduce, gather };

  using Offer = SharedMemory::Offer;

  NodeWindow(int rank, int size);
  NodeWindow(const NodeWindow&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Of the first rank, which makes the memory.
  Offer make() { return memory_.make(); }
  /// Whether another rank now has it, too.
  bool accept(const Offer& offer) { return memory_.accept(offer); }
  /// All have it, or nobody will want it.
  void close_offer() { memory_.close_offer(); }

  /// Bytes of one rank's part of a segment: whole cache lines.
  std::size_t piece_bytes() const { return piece_bytes_; }
  static std::size_t piece_bytes_of(int size);
  static constexpr std::size_t num_slots = 4;
  /// The numbers of an operation's segments, which follow each other; returns the first. Called by all ranks
  /// in the same order.
  std::uint64_t allot(std::size_t num_segments);

  /// Whether every rank has done with this segment what comes before `step`. Never blocks.
  bool may_begin(Step step, std::uint64_t segment) const;
  /// This rank has done the step, and those up to it.
  void finish(Step step, std::uint64_t segment);
  /// This rank, which has not yet finished it, touches others' slots of the segment no more: they may fill
  /// them again as soon as they have read them.
  void leave(std::uint64_t segment);
  /// Says, before the first step is finished, what this rank's slot is part of.
  void describe(std::uint64_t segment, std::uint64_t content);
  /// In the step after that. Errors: internal, where another rank has put something else there.
  void check_content(std::uint64_t segment, std::uint64_t content) const;
  /// A rank's piece for `part` in its slot.
  std::byte* piece(int rank, std::uint64_t segment, int part) const;

  /// An operation has ended half-way on this rank, whose slots will never be free again.
  void break_off() { is_broken_ = true; }
  /// Errors: environment, where an operation has.
  void throw_if_broken() const;

 private:
  struct Flag;  // one per slot and rank
  Flag& flag(int rank, std::uint64_t segment) const;
  void tell(std::uint64_t segment, std::uint64_t steps);

  int rank_;
  int size_;
  std::size_t piece_bytes_;
  std::size_t flags_bytes_;
  SharedMemory memory_;
  bool is_broken_ = false;
  std::uint64_t next_segment_ = 0;
  std::array<std::uint64_t, num_slots> own_steps_done_{};  // of which others know the same or more
};

/// Errors: environment, always: what later operations of the group meet.
[[noreturn]] void throw_given_up();

}  // namespace dt::comm
