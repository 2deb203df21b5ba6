#pragma once
// All that is known of a finished step on one rank, and a summary of where its time went.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
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

/// Seconds by cause. The last cause is the rest of the step, so that the seconds add up to the
/// step's.
using TimeBreakdown = std::vector<std::pair<std::string, double>>;

/// Returns the shares of the host's time. First comes each kind of action without communication
/// ("forward"), or on a device "enqueuing". Then come "exposed communication", "waiting for data",
/// and "the host between" for all else.
TimeBreakdown host_time_breakdown(const StepProfile& profile);
/// Returns the shares of a device's time: each kind of action, and "the GPU between" for the time in
/// which it had nothing to do.
TimeBreakdown device_time_breakdown(const StepProfile& profile);

/// Returns "1.23 s: forward 30.1 %, …"; on a device "1.23 s: forward 30.1 %, …; host: enqueuing 5.0 %,
/// …".
std::string summarize_step(const StepProfile& profile);

}  // namespace dt::profile
