#pragma once
// Converts the times of a device's work to the host's clock.

#include <memory>
#include <utility>

#include "tensor/accelerator.hpp"

namespace dt {

/// Seconds on the host's clock (monotonic).
struct Interval {
  double started_s = 0;
  double ended_s = 0;
};

/// The clock of one device.
class DeviceClock {
 public:
  /// Waits until the stream is idle, then sees when it reaches a mark.
  /// Errors: those of marks.
  explicit DeviceClock(Stream stream);
  /// Returns when the device reached `mark`, to within error_s(). The mark must be reached.
  double time_of(TimedMark& mark) const { return zero_s_ + mark.since_s(*zero_); }
  double error_s() const { return error_s_; }

 private:
  std::unique_ptr<TimedMark> zero_;
  double zero_s_ = 0, error_s_ = 0;
};

/// The time of the work that is enqueued on a stream between the constructor and end().
class TimedSpan {
 public:
  TimedSpan(std::shared_ptr<const DeviceClock> clock, Stream stream)
      : clock_(std::move(clock)), stream_(stream), start_(accelerator().timed_mark(stream)) {}
  void end() { end_ = accelerator().timed_mark(stream_); }
  /// Returns whether that work is done. Call after end().
  bool is_over() const { return end_->is_reached(); }
  /// Returns the times of a span that is over.
  Interval interval() const { return {clock_->time_of(*start_), clock_->time_of(*end_)}; }

 private:
  std::shared_ptr<const DeviceClock> clock_;
  Stream stream_;
  std::unique_ptr<TimedMark> start_, end_;
};

}  // namespace dt
