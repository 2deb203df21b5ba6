#pragma once
// Runs the measurements on every rank.

#include <string>
#include <vector>

#include "base/cli/console.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"

namespace dt::allreduce_bench {

struct Request {
  const Options& options;
  std::vector<OptionValue> values;     // values of all options, on which ranks must agree
  std::vector<std::string> arguments;  // argv, for the record
};

/// Runs the measurements. Rank 0 writes the table, or with --json one object per line, to stdout,
/// and the requested files. Returns the exit code.
/// Errors: verification if results were wrong, after everything has been written.
int run(const Request& request, Console& console);

}  // namespace dt::allreduce_bench
