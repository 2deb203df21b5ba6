#pragma once
// What ranks do in a step and in an evaluation, by their plan.

#include <memory>
#include <string>

#include "comm/streams/ctas.hpp"
#include "parallel/builders.hpp"
#include "parallel/groups.hpp"
#include "parallel/pipeline.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Of a step: the schedule is the same on all data-parallel ranks.
parallel::Pipeline pipeline_of(const Plan& plan);

/// Of each stage of this rank's pipeline, in their order.
std::vector<parallel::ActionList> training_lists(const Plan& plan);
/// This rank's, proved together with the other stages'.
parallel::ActionList training_list(const Plan& plan);

/// This rank's forwards of micro-batches from 0, where it has `num_micro_batches` of the `rounds` that some
/// rank has.
parallel::ActionList evaluation_list(const model::Layout& layout, const model::Place& place, int num_units,
                                     int num_micro_batches, int rounds);

/// "stage 1 of 2: layers.1 to head"; "" where there is one.
std::string describe_stage(const Plan& plan, int stage);

/// What the group of all ranks runs beside: where all are data ranks it sums their gradients.
comm::StreamUse use_of_world(const Plan& plan);

/// Called by all ranks of `world` together, whose recorders know their stages from then on; with the channels
/// of the plan's pipelines.
std::unique_ptr<parallel::Groups> make_groups(const Plan& plan, comm::Communicator& world);

}  // namespace dt::plan
