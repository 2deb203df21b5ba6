#pragma once
// Converts the times of a device's work to the host's clock.

#include <memory>
#include <utility>

#include "base/numeric/range.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt {

/// The clock of one device.
class DeviceClock {
 public:
  /// Waits until the stream is idle, then sees when it reaches an event.
  /// Errors: those of Event.
  explicit DeviceClock(Stream stream);
  /// Returns when the device reached `event`, to within error_s(). The event must be reached.
  double host_time_s(TimedEvent& event) const { return zero_s_ + event.elapsed_since_s(*zero_); }
  double error_s() const { return error_s_; }

 private:
  std::unique_ptr<TimedEvent> zero_;
  double zero_s_ = 0, error_s_ = 0;
};

/// The time of the work that is enqueued on a stream between the constructor and end().
class StreamTimer {
 public:
  StreamTimer(std::shared_ptr<const DeviceClock> clock, Stream stream)
      : clock_(std::move(clock)), stream_(stream), start_(accelerator().record_timed_event(stream)) {}
  void end() { end_ = accelerator().record_timed_event(stream_); }
  /// Returns whether that work is done. Call after end().
  bool is_complete() const { return end_->is_complete(); }
  /// Returns the times of a span that is over, on the host's clock (monotonic).
  Interval interval() const { return {clock_->host_time_s(*start_), clock_->host_time_s(*end_)}; }

 private:
  std::shared_ptr<const DeviceClock> clock_;
  Stream stream_;
  std::unique_ptr<TimedEvent> start_, end_;
};

}  // namespace dt
