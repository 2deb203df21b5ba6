#pragma once
// Who wants to know what a rank does in its steps, and when.

#include "parallel/action.hpp"

namespace dt::parallel {

/// Of the host's time (monotonic), in which a device that is not the host is only given its work.
struct ActionTimes {
  double started_s = 0;
  double ended_s = 0;
  double exposed_s = 0;  // of it: what communication took

  double own_s() const { return ended_s - started_s - exposed_s; }
};

/// Called by the rank's own thread, as things happen.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void begins(const Action&) {}
  virtual void ended(const Action&, const ActionTimes&) {}
  /// Communication has taken this time from computing, within an action or between two.
  virtual void exposed([[maybe_unused]] double started_s, [[maybe_unused]] double ended_s) {}
};

}  // namespace dt::parallel
