#pragma once
// dt-train --dry-run: everything that can be checked before a job waits in a queue.

#include "base/console.hpp"
#include "train/settings.hpp"

namespace dt::train {

/// Reads model, data and run directory, plans, estimates memory and prints what would run; changes nothing.
/// Errors are those that the run would begin with.
int dry_run(const Settings& settings, Console& console);

}  // namespace dt::train
