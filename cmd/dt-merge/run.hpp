#pragma once
// Merges checkpoints and shows progress.

#include "base/cli/console.hpp"
#include "cmd/dt-merge/options.hpp"

namespace dt::merge_tool {

/// Runs the tool and returns the exit code. Writes nothing to stdout, or with --json one object
/// that describes the output.
int run(const Options& options, Console& console);

}  // namespace dt::merge_tool
