#pragma once
// Builds the action lists of ranks for a step and for an evaluation, by their plan.

#include <memory>
#include <string>

#include "comm/device_collectives/device_transport.hpp"
#include "parallel/schedule/builders.hpp"
#include "parallel/schedule/pipeline.hpp"
#include "parallel/state/groups.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Returns the pipeline of a step. The schedule is the same on all data-parallel ranks.
parallel::Pipeline pipeline_of(const Plan& plan);

/// Returns the lists of this rank's pipeline, by stage.
std::vector<parallel::ActionList> training_lists(const Plan& plan);
/// Returns this rank's list, validated together with those of the other stages.
parallel::ActionList training_list(const Plan& plan);

/// Returns this rank's forward passes of micro-batches from 0 on. The rank has `num_micro_batches` of
/// the `rounds` that some rank has.
parallel::ActionList evaluation_list(const model::Layout& layout, const model::MeshCoordinates& place,
                                     int num_units, int num_micro_batches, int rounds);

/// Returns the plan for the stage's first rank that has the most micro-batches, and the largest part
/// of layers that are divided unevenly.
Plan busiest_rank_plan(Plan plan, int stage);

/// Returns "stage 1 of 2: layers.1 to head", or "" if there is one stage.
std::string describe_stage(const Plan& plan, int stage);

/// Returns the use of the group of all ranks. If all ranks are data ranks, it overlaps with
/// computation, as it sums their gradients.
comm::DeviceGroupUse world_stream_use(const Plan& plan);

/// Makes the groups, with the channels of the plan's pipelines. The ranks' recorders know their
/// stages from then on.
/// Collective: all ranks of `world` call it.
std::unique_ptr<parallel::Groups> make_groups(const Plan& plan, comm::Communicator& world);

}  // namespace dt::plan
