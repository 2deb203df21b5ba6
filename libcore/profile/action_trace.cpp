#include "profile/action_trace.hpp"

#include <utility>

#include "tensor/device/device_timeout.hpp"

namespace dt::profile {

using parallel::Action, parallel::ActionTimes, parallel::Executor, parallel::Groups;

ActionTrace::ActionTrace(Executor& executor, const Groups& groups, const Context& context,
                         std::shared_ptr<const DeviceClock> clock)
    : executor_(executor), groups_(groups), context_(context), clock_(std::move(clock)) {
  executor_.add_observer(*this);
  groups_.exposed_time().set_observer(this);
}

ActionTrace::~ActionTrace() {
  groups_.exposed_time().set_observer(nullptr);
  executor_.remove_observer(*this);
}

void ActionTrace::on_action_begin(const Action&) {
  if (clock_) on_device_.emplace_back(clock_, context_.stream());
}

void ActionTrace::on_action_end(const Action& action, const ActionTimes& times) {
  if (clock_) on_device_.back().end();
  actions_.push_back({action, times, {times.started_s, times.ended_s}});
}

void ActionTrace::on_exposed_communication(double started_s, double ended_s) {
  exposed_.push_back({started_s, ended_s});
}

std::vector<TracedAction> ActionTrace::actions() const {
  std::vector<TracedAction> actions = actions_;
  if (!clock_ || actions.empty()) return actions;
  poll_until([&] {
    groups_.poll();
    return on_device_.back().is_complete();
  });
  for (std::size_t i = 0; i < actions.size(); ++i) actions[i].device = on_device_[i].interval();
  return actions;
}

}  // namespace dt::profile
