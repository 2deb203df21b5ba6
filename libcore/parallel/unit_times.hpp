#pragma once
// How long a rank's computations take, by unit.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "parallel/stages.hpp"
#include "parallel/step_observer.hpp"

namespace dt::parallel {

/// Sums over a training's steps. A recompute counts as none of the three.
class UnitTimes final : public StepObserver {
 public:
  explicit UnitTimes(std::size_t num_units) : sums_(num_units * 6) {}

  void add(const Action& action, double seconds);
  /// What computing took, without communication.
  void ended(const Action& action, const ActionTimes& times) override { add(action, times.own_s()); }
  void clear() { sums_.assign(sums_.size(), 0); }
  /// Of each unit, nanoseconds and number of its forwards, backward_inputs and backward_weights in turn: what
  /// several ranks' times add up by.
  std::span<std::int64_t> sums() { return sums_; }

  int num_units() const { return static_cast<int>(sums_.size() / 6); }
  /// Seconds, each the mean; none where one of them was never done.
  std::optional<UnitCost> mean(int unit) const;

 private:
  std::vector<std::int64_t> sums_;
};

}  // namespace dt::parallel
