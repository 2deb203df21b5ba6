#pragma once
// Measuring, on every rank.

#include <string>
#include <vector>

#include "base/console.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"

namespace dt::allreduce_bench {

struct Request {
  const Options& options;
  std::vector<OptionValue> values;     // of all options: ranks must agree
  std::vector<std::string> arguments;  // argv, for the record
};

/// Rank 0 writes the table, or with --json one object a line, to stdout, and the files that were asked for.
/// Returns the exit code. Errors: verification where results were wrong, after all has been written.
int run(const Request& request, Console& console);

}  // namespace dt::allreduce_bench
