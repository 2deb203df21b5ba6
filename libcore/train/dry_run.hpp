#pragma once
// dt-train --dry-run: everything that can be checked before a job waits in a queue.

#include "comm/ranks.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Called by all ranks together, of which rank 0 does the work: reads model, data and run directory, plans,
/// estimates memory and prints what would run; changes nothing. Errors are those that the run would begin
/// with.
int dry_run(const plan::Settings& settings, const comm::Ranks& ranks);

}  // namespace dt::train
