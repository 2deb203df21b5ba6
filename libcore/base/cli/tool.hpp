#pragma once
// The common frame of every main(): parse, run, turn errors into messages and exit codes.

#include <functional>

#include "base/cli/console.hpp"
#include "base/cli/options.hpp"

namespace dt {

/// Parses the command line, calls `run` and returns the exit code. That is run's value, or the code
/// of the dt::Error that it threw; std::bad_alloc is environment, other exceptions are internal.
/// Help and version go to stdout. If stdout cannot be written, the exit code is 4, also for --help.
/// File-size limits (SIGXFSZ) become write errors. If a tool runs as ranks, only rank 0 answers
/// --help and reports errors of the command line; all ranks exit with the same code.
int run_tool(int argc, char** argv, OptionTable& options, const std::function<int(Console&)>& run);

}  // namespace dt
