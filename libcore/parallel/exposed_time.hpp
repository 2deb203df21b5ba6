#pragma once
// What communication takes from a rank's computing.

#include "base/host.hpp"
#include "comm/engine.hpp"
#include "parallel/step_observer.hpp"

namespace dt::parallel {

/// The sum since the beginning: starting operations, waiting for weights, gradients, other stages and the
/// ranks that share layers, and advancing messages between kernels. For one thread.
class ExposedTime {
 public:
  /// The rank's engine must outlive it; nullptr: a rank alone.
  explicit ExposedTime(comm::Engine* engine = nullptr) : engine_(engine) {}

  double sum_s() const { return sum_s_; }
  /// From now on; nullptr: nobody.
  void set_observer(StepObserver* observer) { observer_ = observer; }

  /// Runs it and adds its time, but for that in which what is sent was not there yet, as the rank's device
  /// was still computing it. It must not compute: a kernel may wait for the device. Calls within it count
  /// once.
  template <class Body>
  void of(const Body& body) {
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
    if (observer_) observer_->exposed(started_s, ended_s);
  }

  comm::Engine* engine_;
  StepObserver* observer_ = nullptr;
  double sum_s_ = 0;
  bool is_within_ = false;
};

}  // namespace dt::parallel
