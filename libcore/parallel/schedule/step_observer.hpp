#pragma once
// The interface of observers of a rank's actions and their times, and the observer that measures how long
// a rank's computations take, by unit.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "parallel/schedule/action.hpp"
#include "parallel/schedule/stages.hpp"

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

/// Sums of the times of each unit's computations over a training's steps. A recompute counts as none of the
/// three.
class UnitTimes final : public StepObserver {
 public:
  explicit UnitTimes(std::size_t num_units) : sums_(num_units * 6) {}

  void add(const Action& action, double seconds);
  /// Adds the time of computing, without communication.
  void on_action_end(const Action& action, const ActionTimes& times) override {
    add(action, times.compute_s());
  }
  void clear() { sums_.assign(sums_.size(), 0); }
  /// Returns for each unit the nanoseconds and the number of its forwards, backward_inputs and
  /// backward_weights in turn. Times of several ranks add up by these.
  std::span<std::int64_t> sums() { return sums_; }

  int num_units() const { return static_cast<int>(sums_.size() / 6); }
  /// Returns the mean of each, in seconds, or nothing if one of them was never done.
  std::optional<UnitCost> mean(int unit) const;

 private:
  std::vector<std::int64_t> sums_;
};

}  // namespace dt::parallel
