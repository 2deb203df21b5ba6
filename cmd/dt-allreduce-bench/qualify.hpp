#pragma once
// The measurements of --devices and --pairs.

#include "bench/report.hpp"
#include "bench/time_limit.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"
#include "cmd/dt-allreduce-bench/rank_device.hpp"
#include "comm/ranks.hpp"

namespace dt::allreduce_bench {

/// Returns the settings for messages between two ranks: the smallest and the largest size of the
/// options.
bench::LinkSettings link_settings(const Options& options);

/// Measures each rank's device. Rank 0 prints a table, or with --json an object per rank.
/// Collective: called by all ranks together; blocks.
std::vector<bench::RankedDevice> measure_devices(const Options& options, const RankDevice& device,
                                                 bench::Workspace& workspace, bench::DeadlineTimer& limit,
                                                 const comm::Ranks& ranks);

/// Measures the link between every two ranks. Prints the results as measure_devices() does.
/// Collective: called by all ranks together; blocks.
bench::LinkSection measure_links(const Options& options, const RankDevice& device, bench::Backend& backend,
                                 bench::Workspace& workspace, bench::DeadlineTimer& limit,
                                 const comm::Ranks& ranks);

}  // namespace dt::allreduce_bench
