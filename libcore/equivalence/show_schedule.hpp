#pragma once
// dt-train --show-schedule: draws what ranks do in a step.

#include "comm/ranks.hpp"
#include "plan/settings.hpp"

namespace dt::equivalence {

/// Validates the lists of all ranks together. Prints when each stage does what, its memory and the
/// bytes that its ranks move, then rank 0's list, an action a line. --json prints the list, then an
/// object of "kind" "stage" for each stage and one of "step". --svg writes the picture atomically.
/// Nothing is run.
/// Collective: all ranks call it.
int show_schedule(const plan::Settings& settings, const comm::Ranks& ranks);

}  // namespace dt::equivalence
