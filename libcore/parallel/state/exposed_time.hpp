#pragma once
// Measures the time that communication takes from a rank's computing.

#include "base/system/host.hpp"
#include "comm/engine.hpp"
#include "parallel/schedule/step_observer.hpp"

namespace dt::parallel {

/// The sum since the beginning: starting operations, waiting for weights, gradients, other stages and
/// tensor-parallel ranks, and advancing messages between kernels.
/// Thread safety: one thread.
class ExposedTime {
 public:
  /// The rank's engine must outlive the object; nullptr: a single rank.
  explicit ExposedTime(comm::Engine* engine = nullptr) : engine_(engine) {}

  double sum_s() const { return sum_s_; }
  /// Sets the observer from now on; nullptr: none.
  void set_observer(StepObserver* observer) { observer_ = observer; }

  /// Runs `body` and adds its time. Time in which the rank's device still computes the data to be
  /// sent does not count. `body` must not compute, as a kernel may wait for the device. Calls
  /// within it count once.
  template <class Body>
  void measure(const Body& body) {
    if (is_within_) return body();
    const Scope scope(*this);
    body();
  }

 private:
  class Scope {
   public:
    explicit Scope(ExposedTime& time)
        : time_(time), waited_before_s_(time.waited_for_device_s()), started_s_(monotonic_s()) {
      time_.is_within_ = true;
    }
    ~Scope() {
      time_.is_within_ = false;
      time_.add(started_s_ + time_.waited_for_device_s() - waited_before_s_, monotonic_s());
    }
    Scope(const Scope&) = delete;

   private:
    ExposedTime& time_;
    double waited_before_s_, started_s_;
  };

  double waited_for_device_s() const { return engine_ ? engine_->waited_for_device_s() : 0; }
  void add(double started_s, double ended_s) {
    sum_s_ += ended_s - started_s;
    if (observer_) observer_->on_exposed_communication(started_s, ended_s);
  }

  comm::Engine* engine_;
  StepObserver* observer_ = nullptr;
  double sum_s_ = 0;
  bool is_within_ = false;
};

}  // namespace dt::parallel
