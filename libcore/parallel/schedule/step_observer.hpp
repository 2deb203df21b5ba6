#pragma once
// The interface of observers of a rank's actions and their times.

#include "parallel/schedule/action.hpp"

namespace dt::parallel {

/// Times of an action on the host's monotonic clock. For a device other than the host, this is the
/// time in which the host enqueues the work.
struct ActionTimes {
  double started_s = 0;
  double ended_s = 0;
  double exposed_s = 0;  // part that communication took

  double compute_s() const { return ended_s - started_s - exposed_s; }
};

/// An observer of a rank's steps. The rank's own thread calls it, as things happen.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void on_action_begin(const Action&) {}
  virtual void on_action_end(const Action&, const ActionTimes&) {}
  /// Reports that communication took this time from computing, within an action or between two.
  virtual void on_exposed_communication([[maybe_unused]] double started_s, [[maybe_unused]] double ended_s) {}
};

}  // namespace dt::parallel
