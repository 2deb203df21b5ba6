#pragma once
// What every main() does: parse, run, turn errors into messages and exit codes.

#include <functional>

#include "base/console.hpp"
#include "base/options.hpp"

namespace dt {

/// Parses the command line, calls `run` and returns the exit code: its value, or the code of the dt::Error
/// that it threw (std::bad_alloc is environment, other exceptions are internal). Help and version go to
/// stdout. A stdout that could not be written is exit 4, also for --help. File-size limits (SIGXFSZ) become
/// write errors. Of a tool that runs as ranks, only rank 0 answers --help and says what is wrong with the
/// command line; all exit alike.
int run_tool(int argc, char** argv, OptionTable& options, const std::function<int(Console&)>& run);

}  // namespace dt
