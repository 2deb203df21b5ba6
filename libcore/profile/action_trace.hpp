#pragma once
// Records a step as it ran on one rank.

#include <memory>
#include <vector>

#include "parallel/engine/executor.hpp"
#include "tensor/device/device_clock.hpp"

namespace dt::profile {

/// An action that has run.
struct TracedAction {
  parallel::Action action;
  parallel::ActionTimes host;
  Interval device{};  // when the rank's device did its work; on a CPU equal to `host`
};

/// Records what an executor does, as long as the trace lives. The arguments must outlive it.
/// Recording does not delay the step: a device's times are read after it.
class ActionTrace final : public parallel::StepObserver {
 public:
  /// `clock` is the clock of the context's device, or nullptr for the host's.
  ActionTrace(parallel::Executor& executor, const parallel::Groups& groups, const Context& context,
              std::shared_ptr<const DeviceClock> clock);
  ~ActionTrace() override;
  ActionTrace(const ActionTrace&) = delete;

  void on_action_begin(const parallel::Action& action) override;
  void on_action_end(const parallel::Action& action, const parallel::ActionTimes& times) override;
  void on_exposed_communication(double started_s, double ended_s) override;

  /// Returns the actions in the order in which they ran. Blocks until the device has done them.
  /// Errors: those of StreamTimer.
  std::vector<TracedAction> actions() const;
  /// Returns the exposed communication: the times that communication took from computing.
  const std::vector<Interval>& exposed_communication() const { return exposed_; }

 private:
  parallel::Executor& executor_;
  const parallel::Groups& groups_;
  const Context& context_;
  std::shared_ptr<const DeviceClock> clock_;
  std::vector<TracedAction> actions_;
  std::vector<StreamTimer> on_device_;  // one for each action
  std::vector<Interval> exposed_;
};

}  // namespace dt::profile
