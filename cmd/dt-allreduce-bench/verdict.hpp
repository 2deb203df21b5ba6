#pragma once
// The assessment of results.

#include <string>
#include <vector>

#include "bench/report.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"
#include "comm/ranks.hpp"

namespace dt::allreduce_bench {

/// Returns a sentence for each device or link that is slow beside its peers or below a GPU's
/// NVLink, or that misses a bound. If all links of a rank within its host, or to other hosts, are
/// slow, the rank is named instead of the links.
std::vector<std::string> find_failures(const Options& options, const bench::Results& results);

/// Warns of slow devices and links.
/// Collective: called by all ranks together with the same results.
/// Errors: verification if any are slow, or results were wrong.
void check_results(const Options& options, const bench::Results& results, Console& console);

}  // namespace dt::allreduce_bench
