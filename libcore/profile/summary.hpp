#pragma once
// Where a step's time went on one rank.

#include <string>
#include <utility>
#include <vector>

#include "profile/step_profile.hpp"

namespace dt::profile {

/// Seconds by what took them; the last is what is left of the step. They add up to it.
using Shares = std::vector<std::pair<std::string, double>>;

/// Of the host's time: each kind of action without communication ("forward"), or on a device "enqueuing";
/// "exposed communication", "waiting for data", and "the host between" for what is none of these.
Shares shares_of_host(const StepProfile& profile);
/// Of a device's time: each kind of action; "the GPU between" for what it had nothing to do for.
Shares shares_of_device(const StepProfile& profile);

/// "1.23 s: forward 30.1 %, …"; on a device "1.23 s: forward 30.1 %, …; enqueuing 5.0 %, …"
std::string summary_of(const StepProfile& profile);

}  // namespace dt::profile
