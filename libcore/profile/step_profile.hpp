#pragma once
// What is known of a step on one rank when it is over.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/clocks.hpp"
#include "comm/recorder.hpp"
#include "profile/action_trace.hpp"

namespace dt::profile {

/// Times are the rank's own (monotonic).
struct StepProfile {
  std::int64_t step = 0;
  std::int64_t generation = 0;
  int rank = 0;
  std::string host;
  std::string duty;    // of the rank, where ranks differ; "stage 1 of 2: layers.1 to head"
  std::string layout;  // of the run over ranks
  comm::CommonClock clock;
  bool is_on_device = false;
  double device_error_s = 0;  // of a device's times

  Interval whole;          // until host and device are done
  double data_wait_s = 0;  // at its beginning
  std::vector<std::string> unit_names;
  std::vector<TracedAction> actions;
  std::vector<Interval> exposures;  // what communication took from computing
  std::vector<comm::OperationRecord> operations;
  std::vector<comm::GroupRecord> groups;  // of these, by index
};

/// "forward layers.3", "send activation layers.3", "control"
std::string name_of(const StepProfile& profile, const parallel::Action& action);

}  // namespace dt::profile
