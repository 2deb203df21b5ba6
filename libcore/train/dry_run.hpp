#pragma once
// dt-train --dry-run: checks all that can be checked before a job waits in a queue.

#include "comm/ranks.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Reads model, data and run directory, plans, estimates memory and prints what would run. Changes
/// nothing. Rank 0 does the work.
/// Errors: those that the run would start with.
/// Collective: all ranks.
int dry_run(const plan::Settings& settings, const comm::Ranks& ranks);

}  // namespace dt::train
