#pragma once
// Gathers few bytes in few messages.

#include "comm/core/collective.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// Consecutive ranks of a group, which exchange among themselves.
struct RankRun {
  int first;
  int count;
};

/// The rounds in which each rank of a run gathers all ranges of a tensor. Each round doubles the ranges that
/// a rank holds, so that n ranks send n log2 n messages instead of n². If n is a power of two, ranks exchange
/// what they hold pairwise. Otherwise rank r sends to rank r − 2^k (mod n) in round k, in two messages where
/// the ranges go beyond the last rank.
/// Source: Bruck, Ho, Kipnis, Upfal, Weathersby 1997, "Efficient algorithms for all-to-all communications in
/// multiport message-passing systems" (concatenation); Thakur, Rabenseifner, Gropp 2005, section 4.1
/// (recursive doubling).
class GatherByDoubling {
 public:
  /// `rank` is this rank's number in the group. `range_of` returns the range of a rank, counted from the
  /// run's first; each range begins where the one before ends. This rank's range must be in `all` already.
  GatherByDoubling(int rank, const RankRun& run, const Tensor& all, RangeOf range_of);

  /// Returns the number of rounds, ⌈log2 n⌉.
  int num_rounds() const;
  void add_round(int index, Round& round) const;

 private:
  void add_power_of_two(int held, Round& round) const;
  void add_any(int held, Round& round) const;
  void add(int peer, int first, int count, bool is_send, Round& round) const;

  int own_;
  RankRun run_;
  Tensor all_;
  RangeOf range_of_;
};

}  // namespace dt::comm
