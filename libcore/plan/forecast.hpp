#pragma once
// A training step on paper: when each stage does what, and what it makes ranks move.

#include <functional>
#include <string>
#include <vector>

#include "parallel/pipeline.hpp"
#include "parallel/timeline.hpp"
#include "parallel/traffic.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// By the FLOPs of the model's units: seconds of each for a micro-batch.
std::vector<parallel::UnitCost> predicted_unit_times(const Plan& plan, double rank_flops);

/// Of each stage, its rank that has the most micro-batches; the first such. The others come to nothing later.
struct Forecast {
  parallel::Pipeline pipeline;
  std::vector<parallel::ActionList> lists;
  parallel::Timeline timeline;
  std::vector<parallel::MovedBytes> moved;
};

/// Bytes that each action of a list of the plan's rank moves; see parallel::Traffic.
std::vector<std::int64_t> moved_bytes_of(const Plan& plan, const parallel::ActionList& list);

/// Bytes/s that a rank sends to others.
struct Links {
  double within_node = 0;
  double between_nodes = 0;
  Links(double everywhere) : Links(everywhere, everywhere) {}
  Links(double within, double between) : within_node(within), between_nodes(between) {}
};

/// --node-bandwidth, which is --link-bandwidth by default, and --link-bandwidth.
Links links_of(const Settings& settings);

/// `unit_times` are seconds a micro-batch. Over a rank's links goes what it sends; see comm::sent_bytes.
Forecast forecast_step(const Plan& plan, const std::vector<parallel::UnitCost>& unit_times, Links links);

/// That plan for the stage's first rank that has the most micro-batches, and the most of layers cut unevenly.
Plan busiest(Plan plan, int stage);

/// By the FLOPs of units, as if nothing took time to move; see Timeline::bubble().
double predicted_bubble(const Plan& plan);
/// "4 stages of 5+7+7+5 units, 1f1b, 16 micro-batches: predicted bubble 18.0 %"
std::string describe_pipeline(const Plan& plan);
/// "each layer is shared by 2 ranks, who each send 1.5 GiB a step"; and what of it over the network.
std::string describe_sharing(const Plan& plan);
/// What --zero 2 or 3 makes a pipeline's ranks move more; "" for other plans. "--zero 3 under --pp 4 gathers
/// and reduces 3.0 GiB a step and rank, where --zero 1 would 1.0 GiB: …"
std::string price_of_zero(const Plan& plan);

}  // namespace dt::plan
