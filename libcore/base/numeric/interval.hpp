#pragma once
// Intervals of time.

namespace dt {

/// An interval in seconds. Its user says on which clock.
struct Interval {
  double start_s = 0;
  double end_s = 0;

  double duration_s() const { return end_s - start_s; }
};

}  // namespace dt
