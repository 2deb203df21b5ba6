#pragma once
// Simulates all ranks' lists together: which rank does what when, and whether ranks deadlock.

#include <functional>
#include <span>
#include <vector>

#include "base/numeric/range.hpp"
#include "parallel/schedule/action.hpp"

namespace dt::parallel {

/// The machine's properties that the simulation uses.
struct CostModel {
  /// Seconds of an action. A computation keeps its rank busy. Sends and collectives overlap with
  /// it.
  std::function<double(int rank, const Action&)> seconds;
  /// If false, a rank continues to compute only when a started collective is complete.
  bool overlaps = true;
};

/// A transfer or collective that overlaps with computing.
struct CommInterval {
  Action action;  // a send, or a gather or reduce without its micro-batch
  int rank = 0;   // sender, or the first of the ranks that do it together
  int receiver = -1;
  Interval when;  // begins when all ranks have arrived and it is its turn
};

struct Timeline {
  std::vector<std::vector<Interval>> actions;  // by rank; a started operation has the time of its start
  std::vector<double> computing_s;             // by rank
  std::vector<CommInterval> communications;

  double end_s() const;
  /// Returns the time of the whole over the busiest rank's computation, less 1.
  double bubble_ratio() const;
};

/// Simulates the lists of pp × dp ranks, data-parallel neighbours next to each other: rank = stage
/// rank · dp + dp rank. The ranks of a stage gather and reduce together; control takes all ranks.
/// Sends are rendezvous. A send is complete when both ranks have arrived at it and its predecessors
/// in the communicator are complete; a third send waits for the first. This matches devices that
/// start each communicator's operations in order on both sides.
/// Errors: internal, naming rank and action: ranks deadlock; a receive meets a send of something
/// else; ranks start different collectives; something is still in flight at the end.
Timeline simulate_timeline(std::span<const ActionList> lists, int dp, const CostModel& clock);

}  // namespace dt::parallel
