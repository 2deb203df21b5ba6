#pragma once
// A step as it went on one rank.

#include <memory>
#include <vector>

#include "parallel/executor.hpp"
#include "tensor/device_clock.hpp"

namespace dt::profile {

/// An action that was done.
struct TracedAction {
  parallel::Action action;
  parallel::ActionTimes host;
  Interval device{};  // when the rank's device did what it was given for it; of a rank on a CPU as `host`
};

/// Keeps what an executor does as long as it lives, which both must outlive. Takes no part in it: a device's
/// times are read after the step.
class ActionTrace final : public parallel::StepObserver {
 public:
  /// `clock`: of the device that the context is on; nullptr: the host's.
  ActionTrace(parallel::Executor& executor, const parallel::Groups& groups, const Context& context,
              std::shared_ptr<const DeviceClock> clock);
  ~ActionTrace() override;
  ActionTrace(const ActionTrace&) = delete;

  void begins(const parallel::Action& action) override;
  void ended(const parallel::Action& action, const parallel::ActionTimes& times) override;
  void exposed(double started_s, double ended_s) override;

  /// In the order in which they were done. Waits for what the device has not done yet. Errors: those of
  /// marks.
  std::vector<TracedAction> actions() const;
  /// What communication took from computing.
  const std::vector<Interval>& exposures() const { return exposed_; }

 private:
  parallel::Executor& executor_;
  const parallel::Groups& groups_;
  const Context& context_;
  std::shared_ptr<const DeviceClock> clock_;
  std::vector<TracedAction> actions_;
  std::vector<TimedSpan> on_device_;  // of each
  std::vector<Interval> exposed_;
};

}  // namespace dt::profile
