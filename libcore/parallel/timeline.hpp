#pragma once
// All ranks' lists walked together on paper: which rank does what when, and whether any waits in vain.

#include <functional>
#include <span>
#include <vector>

#include "parallel/action.hpp"

namespace dt::parallel {

/// What the walk is told of the machine.
struct Clock {
  /// Seconds of an action: what computes keeps its rank; what ranks do together, and a send, goes on beside.
  std::function<double(int rank, const Action&)> seconds;
  /// Off: a rank computes on only when what ranks do together is done.
  bool overlaps = true;
};

struct Interval {
  double start_s = 0;
  double end_s = 0;
};

/// What goes on beside computing.
struct Movement {
  Action action;  // a send; or a gather or reduce, without its micro-batch
  int rank = 0;   // the sender, or the first of those that do it together
  int receiver = -1;
  Interval when;  // from when all have come to it and it is its turn
};

struct Timeline {
  std::vector<std::vector<Interval>> actions;  // of each rank; of what is only started, when it is
  std::vector<double> computing_s;             // of each rank
  std::vector<Movement> movements;

  double end_s() const;
  /// The time of the whole over what the busiest rank computes, less 1.
  double bubble() const;
};

/// Walks the lists of pp × dp ranks, data-parallel neighbours next to each other (rank = stage rank · dp + dp
/// rank); those of a stage gather and reduce together, all come to control. Sends are rendezvous: complete
/// when both have come to them and their predecessors in the communicator are complete; the third waits for
/// the first. So it is on devices that start each communicator's operations in order on both sides.
/// Error{internal} naming rank and action: ranks wait for each other in vain; a receive meets a send of
/// something else; ranks do different things together; something is still under way at the end.
Timeline walk_together(std::span<const ActionList> lists, int dp, const Clock& clock);

}  // namespace dt::parallel
