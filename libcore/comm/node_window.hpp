#pragma once
// Memory that the ranks of a group share where all are on one host: operations on it cost neither messages
// nor system calls.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dt::comm {

/// For each rank eight slots, used in turn, that only it writes and all read. What passes through a window is
/// cut into segments, numbered in the order in which the group's operations are called; segment g takes the
/// slots g mod 8 of all ranks, in three steps, none of which begins before every rank has done the one
/// before. A rank never sees another's buffers, so an operation that it gives up leaves nobody in them.
///
/// It is opened by the group's first operation that wants it: ranks exchange offers, map what the first one
/// made, tell each other whether they could, and have a window if all could. The memory has no name in any
/// file system and goes with the last process that maps it.
class NodeWindow {
 public:
  static constexpr int max_ranks = 64;

  enum class State { undecided, open, absent };
  enum class Step : std::uint64_t { copy, reduce, gather };

  /// What a rank tells the others to begin with.
  struct Offer {
    std::array<char, 64> host{};  // who names another never shares memory with us
    std::int64_t process = 0;
    std::int64_t descriptor = -1;  // of the first rank: the memory, −1 where there is none
    std::array<std::uint64_t, 2> token{};
  };

  /// No more than an intention. `host` names this rank's.
  NodeWindow(int rank, int size, const std::string& host);
  ~NodeWindow();
  NodeWindow(const NodeWindow&) = delete;

  State state() const { return state_; }
  /// True for the first who asks: that operation opens it.
  bool claim_opening();
  /// This rank's; the first rank's makes the memory.
  const Offer& offer();
  /// Whether this rank has the memory that the first one offers.
  bool accept(std::span<const Offer> offers);
  void decide(bool all_have_it);

  /// Bytes of one rank's part of a segment: whole cache lines.
  std::size_t piece_bytes() const { return piece_bytes_; }
  static constexpr std::size_t num_slots = 8;
  /// The numbers of an operation's segments, which follow each other; returns the first. Called by all ranks
  /// in the same order.
  std::uint64_t allot(std::size_t num_segments);

  /// Whether every rank has done with this segment what comes before `step`. Never blocks. `content` says
  /// what the segment is part of. Errors: internal, where another rank has put something else there.
  bool may_begin(Step step, std::uint64_t segment, std::uint64_t content) const;
  /// This rank has done the step, and those up to it.
  void finish(Step step, std::uint64_t segment);
  /// Says, before the first step is finished, what this rank's slot holds.
  void describe(std::uint64_t segment, std::uint64_t content);
  /// A rank's piece for `part` in its slot. Written in `copy` for others' parts and for its own, in `reduce`
  /// for its own.
  std::byte* piece(int rank, std::uint64_t segment, int part) const;

  /// An operation has ended half-way on this rank, whose slots will never be free again.
  void break_off() { is_broken_ = true; }
  /// Errors: environment, where an operation has.
  void throw_if_broken() const;

 private:
  struct Flag;  // one per slot and rank
  Flag& flag(int rank, std::uint64_t segment) const;
  bool map(int descriptor);

  int rank_;
  int size_;
  std::size_t piece_bytes_;
  std::size_t flags_bytes_;
  std::size_t bytes_;  // of all
  State state_ = State::undecided;
  bool is_claimed_ = false;
  bool is_broken_ = false;
  Offer offer_;
  int descriptor_ = -1;  // the first rank's, until all have it
  std::byte* memory_ = nullptr;
  std::uint64_t next_segment_ = 0;
};

}  // namespace dt::comm
