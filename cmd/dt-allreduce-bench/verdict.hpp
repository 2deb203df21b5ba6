#pragma once
// Whether what was measured is as it should be.

#include <string>
#include <vector>

#include "bench/report.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"
#include "comm/ranks.hpp"

namespace dt::allreduce_bench {

/// Returns a sentence for each thing that is slow beside its like or a GPU's NVLink, or misses a bound.
/// A rank all of whose links within its host, or to others, are slow is named instead of them.
std::vector<std::string> complaints(const Options& options, const bench::Results& results);

/// By all ranks together, which know the same. Warns of what is slow. Errors: verification, where anything
/// is, or results were wrong.
void check_results(const Options& options, const bench::Results& results, Console& console);

}  // namespace dt::allreduce_bench
