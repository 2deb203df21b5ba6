#pragma once
// dt-train --show-schedule: what a rank does in a step.

#include "comm/ranks.hpp"
#include "train/settings.hpp"

namespace dt::prove {

/// Called by all ranks together: checks that the lists of all fit each other and prints rank 0's, an action a
/// line, with the bytes that it makes ranks move. Nothing is run.
int show_schedule(const train::Settings& settings, const comm::Ranks& ranks);

}  // namespace dt::prove
