#pragma once
// Forecasts a training step by simulation: when each stage does what, and what its ranks move.

#include <functional>
#include <string>
#include <vector>

#include "parallel/schedule/pipeline.hpp"
#include "parallel/schedule/timeline.hpp"
#include "parallel/state/comm_volume.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Returns the seconds that each unit takes for a micro-batch, by the FLOPs of the model's units.
std::vector<parallel::UnitCost> predicted_unit_times(const Plan& plan, double rank_flops);

/// A forecast of one rank of each stage: the first rank that has the most micro-batches. The stage's
/// other ranks end none of their work later.
struct Forecast {
  parallel::Pipeline pipeline;
  std::vector<parallel::ActionList> lists;
  parallel::Timeline timeline;
  std::vector<parallel::CommBytes> comm_bytes;
};

/// Returns the bytes that each action of a list of the plan's rank moves; see parallel::CommVolume.
std::vector<std::int64_t> comm_bytes_per_action(const Plan& plan, const parallel::ActionList& list);

/// Bytes/s that a rank sends to others.
struct LinkBandwidths {
  double within_node = 0;
  double between_nodes = 0;
  LinkBandwidths(double everywhere) : LinkBandwidths(everywhere, everywhere) {}
  LinkBandwidths(double within, double between) : within_node(within), between_nodes(between) {}
};

/// Returns --node-bandwidth, by default --link-bandwidth, and --link-bandwidth.
LinkBandwidths link_bandwidths(const ForecastRequest& request);

/// Forecasts a step. What a rank sends goes over its links; see comm::sent_bytes.
/// Units: `unit_times` are seconds for a micro-batch.
Forecast forecast_step(const Plan& plan, const std::vector<parallel::UnitCost>& unit_times,
                       LinkBandwidths links);

/// Returns the bubble by the FLOPs of units, as if transfers took no time; see Timeline::bubble().
double predicted_bubble_ratio(const Plan& plan);
/// Returns "4 stages of 5+7+7+5 units, 1f1b, 16 micro-batches: predicted bubble 18.0 %".
std::string describe_pipeline(const Plan& plan);
/// Returns "tensor parallelism over 2 ranks: each rank sends 1.5 GiB per step", and the part of it that
/// goes over the network.
std::string describe_tensor_parallelism(const Plan& plan);
/// Returns how many more bytes a pipeline's ranks move with --zero 2 or 3, or "" for other plans:
/// "--zero 3 with --pp 4 communicates 3.0 GiB per step and rank, compared with 1.0 GiB for --zero 1: …".
std::string describe_zero_comm_cost(const Plan& plan);

}  // namespace dt::plan
