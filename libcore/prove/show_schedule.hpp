#pragma once
// dt-train --show-schedule: what ranks do in a step, drawn.

#include "comm/ranks.hpp"
#include "plan/settings.hpp"

namespace dt::prove {

/// Called by all ranks together: checks that the lists of all fit each other; prints when each stage does
/// what, its memory and what it makes ranks move, then rank 0's list, an action a line. With --json the list,
/// then an object of "kind" "stage" each and one of "step". Nothing is run. --svg writes the picture
/// atomically.
int show_schedule(const plan::Settings& settings, const comm::Ranks& ranks);

}  // namespace dt::prove
