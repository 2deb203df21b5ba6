#pragma once
// Checks what a rank of a pipeline may send and receive, from what it has so far: a part of the
// validator.

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "parallel/schedule/action.hpp"
#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

/// The rules of one rank's transfers.
/// Errors: every check throws internal, naming the action.
class TransferValidator {
 public:
  TransferValidator(const Pipeline& pipeline, int rank);

  bool holds(int unit) const { return holds_[static_cast<std::size_t>(unit)]; }
  /// Checks that the send is this rank's and has the right peer. Returns whether it is the first
  /// such send.
  bool send(const Action& action);
  /// Does the same for a receive, and checks that at most two wait to be used.
  bool receive(const Action& action);
  /// Records that a computation uses what another rank has made: a receive must have come before.
  void record_use(const Action& action, Payload payload, int unit);
  /// Checks that the tied table's sum has been exchanged, and that computations have used
  /// everything received.
  void check_control() const;
  /// Checks that the tied table's weights have been exchanged.
  void check_end() const;

 private:
  using Key = std::tuple<Payload, int, int>;  // unit, micro-batch
  /// Checks that the boundary, or the tied table, is between this rank (first, as it sends) and the peer.
  void check_endpoints(const Action& action, bool sends) const;
  bool has_exchanged(Payload payload) const;

  const Pipeline pipeline_;
  int rank_;
  std::vector<bool> holds_;
  std::set<Key> sent_;
  std::set<Key> received_;
  std::map<Key, int> unused_;  // peers that they came from
};

}  // namespace dt::parallel
