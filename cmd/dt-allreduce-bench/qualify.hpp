#pragma once
// What --devices and --pairs ask for.

#include "bench/report.hpp"
#include "bench/time_limit.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"
#include "cmd/dt-allreduce-bench/rank_device.hpp"
#include "comm/ranks.hpp"

namespace dt::allreduce_bench {

/// Messages between two ranks as the options have them: the smallest and the largest.
bench::LinkSettings link_settings(const Options& options);

/// Called by all ranks together; rank 0 tells it as a table, or with --json an object a rank.
std::vector<bench::RankedDevice> qualify_devices(const Options& options, const RankDevice& device,
                                                 bench::Workspace& workspace, bench::TimeLimit& limit,
                                                 const comm::Ranks& ranks);

/// The same of every two ranks.
bench::LinkSection qualify_links(const Options& options, const RankDevice& device, bench::Backend& backend,
                                 bench::Workspace& workspace, bench::TimeLimit& limit,
                                 const comm::Ranks& ranks);

}  // namespace dt::allreduce_bench
