#pragma once
// What a rank of a pipeline may send and receive, and has so far: a part of the validator.

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "parallel/action.hpp"
#include "parallel/pipeline.hpp"

namespace dt::parallel {

/// Every check throws Error{internal} naming the action.
class TransferRules {
 public:
  TransferRules(const Pipeline& pipeline, int rank);

  bool holds(int unit) const { return holds_[static_cast<std::size_t>(unit)]; }
  /// Checks that it is this rank's to send, and to whom; whether it is the first time.
  bool send(const Action& action);
  /// The same; and that at most two wait to be used.
  bool receive(const Action& action);
  /// A computation uses what another rank has made: a receive has come before.
  void use(const Action& action, Payload payload, int unit);
  /// The tied table's sum has been exchanged, and nothing that came has not been used.
  void check_control() const;
  /// Its weights have been.
  void check_end() const;

 private:
  using Key = std::tuple<Payload, int, int>;  // unit, micro-batch
  /// Checks that the boundary, or the tied table, is between this rank (first, as it sends) and the peer.
  void check_ends(const Action& action, bool sends) const;
  bool has_exchanged(Payload payload) const;

  const Pipeline pipeline_;
  int rank_;
  std::vector<bool> holds_;
  std::set<Key> sent_;
  std::set<Key> received_;
  std::map<Key, int> unused_;  // and from whom
};

}  // namespace dt::parallel
