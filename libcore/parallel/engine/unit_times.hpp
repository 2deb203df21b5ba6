#pragma once
// Measures how long a rank's computations take, by unit.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "parallel/schedule/stages.hpp"
#include "parallel/schedule/step_observer.hpp"

namespace dt::parallel {

/// Sums of times over a training's steps. A recompute counts as none of the three.
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
