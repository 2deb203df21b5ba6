#pragma once
// Steps of units that take known times.

#include <vector>

#include "bench/pipeline/rank.hpp"

namespace dt::bench {

/// Returns the time from a barrier to the last computation's end on any rank, the median of three steps.
/// Collective: all ranks of `world` call it, and each gets the same result.
double timed_step_s(const Setting& setting, const Seconds& seconds, comm::Communicator& world);

/// Returns the time of the same step by the walk of its lists; each message between stages takes `send_s`.
double walked_step_s(const Setting& setting, const Seconds& seconds, double send_s);

/// Returns the bubble of a step of `step_s` seconds.
double bubble_of(const Setting& setting, const Seconds& seconds, double step_s);

}  // namespace dt::bench
