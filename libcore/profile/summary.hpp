#pragma once
// Summarizes where a step's time went on one rank.

#include <string>
#include <utility>
#include <vector>

#include "profile/step_profile.hpp"

namespace dt::profile {

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
