#pragma once
// All that is known of a finished step on one rank.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/core/recorder.hpp"
#include "comm/diagnostics/clocks.hpp"
#include "profile/action_trace.hpp"

namespace dt::profile {

/// Times are those of the rank's own monotonic clock.
struct StepProfile {
  std::int64_t step = 0;
  std::int64_t generation = 0;
  int rank = 0;
  std::string host;
  std::string role;    // the rank's duty, if ranks differ: "stage 1 of 2: layers.1 to head"
  std::string layout;  // layout of the run
  comm::ClockOffset clock;
  bool is_on_device = false;
  double device_error_s = 0;  // error of a device's times

  Interval step_time;      // ends when host and device are done
  double data_wait_s = 0;  // at the step's beginning
  std::vector<std::string> unit_names;
  std::vector<TracedAction> actions;
  std::vector<Interval> exposed_communication;  // times that communication took from computing
  std::vector<comm::OperationRecord> operations;
  std::vector<comm::GroupRecord> groups;  // groups of the operations, by index
};

/// Returns an action's name: "forward layers.3", "send activation layers.3", "control".
std::string action_label(const StepProfile& profile, const parallel::Action& action);

}  // namespace dt::profile
