#pragma once
// Merging, with progress.

#include "base/console.hpp"
#include "cmd/dt-merge/options.hpp"

namespace dt::merge_tool {

/// Writes nothing to stdout, or with --json one object that says what was written. Returns the exit code.
int run(const Options& options, Console& console);

}  // namespace dt::merge_tool
