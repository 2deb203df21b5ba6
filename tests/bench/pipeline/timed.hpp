#pragma once
// Steps of units that take known times.

#include <vector>

#include "bench/pipeline/rank.hpp"

namespace dt::bench {

/// From a barrier to the last computation's end on any rank: the median of three steps. Called by
/// all ranks of `world` together, each of which gets it.
double timed_step_s(const Setting& setting, const Seconds& seconds, comm::Communicator& world);

/// The same on paper; `send_s` of each message between stages.
double walked_step_s(const Setting& setting, const Seconds& seconds, double send_s);

/// The bubble of a step of so long.
double bubble_of(const Setting& setting, const Seconds& seconds, double step_s);

}  // namespace dt::bench
