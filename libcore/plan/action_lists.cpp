#include "plan/action_lists.hpp"

#include <algorithm>
#include <fmt/ranges.h>

#include "comm/device_collectives/device_transport.hpp"
#include "optim/adafactor.hpp"
#include "optim/muon.hpp"
#include "parallel/schedule/validator.hpp"

namespace dt::plan {

namespace {

int num_units(const Plan& plan) {
  return static_cast<int>(plan.spec.layers) + 2;
}

}  // namespace

comm::DeviceGroupUse world_stream_use(const Plan& plan) {
  return plan.layout.data_ranks() == plan.layout.size() ? comm::DeviceGroupUse::overlapping
                                                        : comm::DeviceGroupUse::world;
}

Plan busiest_rank_plan(Plan plan, int stage) {
  plan.place = {stage, 0, plan.layout.tp - 1};
  const auto first = [&](std::int64_t rank) { return rank * plan.micro_batches_per_step / plan.layout.dp; };
  while (first(plan.place.dp + 1) - first(plan.place.dp) < plan.max_micro_batches()) ++plan.place.dp;
  return plan;
}

parallel::Pipeline pipeline_of(const Plan& plan) {
  const auto micro_batches = static_cast<int>(std::max<std::int64_t>(1, plan.max_micro_batches()));
  return parallel::pipeline_of(plan.layout, num_units(plan), micro_batches, plan.spec.tied);
}

std::vector<parallel::ActionList> training_lists(const Plan& plan) {
  return parallel::build_training_steps(step_shape(plan, num_units(plan)), pipeline_of(plan));
}

parallel::ActionList training_list(const Plan& plan) {
  const parallel::StepShape shape = step_shape(plan, num_units(plan));
  const parallel::Pipeline pipeline = pipeline_of(plan);
  std::vector<parallel::ActionList> lists = parallel::build_training_steps(shape, pipeline);
  parallel::validate_training_steps(lists, std::span(&shape, 1), pipeline);
  return std::move(lists[static_cast<std::size_t>(plan.place.pp)]);
}

parallel::ActionList evaluation_list(const model::Layout& layout, const model::MeshCoordinates& place,
                                     int num_units, int num_micro_batches, int rounds) {
  const parallel::StepShape shape{.num_units = num_units,
                                  .num_micro_batches = num_micro_batches,
                                  .max_micro_batches = rounds,
                                  .zero = layout.zero};
  const parallel::Pipeline pipeline = parallel::pipeline_of(layout, num_units, rounds, false);
  return std::move(parallel::build_evaluations(shape, pipeline)[static_cast<std::size_t>(place.pp)]);
}

std::string describe_stage(const Plan& plan, int stage) {
  if (plan.layout.pp == 1) return "";
  const model::ParameterTable table(plan.spec);
  const auto name = [&](int unit) { return table.units()[static_cast<std::size_t>(unit)].name; };
  std::vector<std::string> ranges;
  for (const model::UnitRange& r : plan.layout.stages[static_cast<std::size_t>(stage)])
    ranges.push_back(r.end - r.begin == 1 ? name(r.begin) : name(r.begin) + " to " + name(r.end - 1));
  return fmt::format("stage {} of {}: {}", stage, plan.layout.pp, fmt::join(ranges, ", "));
}

namespace {

/// Returns the library's transport of several ranks, and for one rank a transport without the library.
std::unique_ptr<comm::DeviceTransport> open_streams(const Plan& plan, comm::Communicator& world) {
  if (world.size() == 1) return std::make_unique<comm::SingleRankTransport>(plan.device);
  return comm::device_transport_library()->open(world, plan.device, plan.comm_timeout_s,
                                                world_stream_use(plan));
}

}  // namespace

std::unique_ptr<parallel::Groups> make_groups(const Plan& plan, comm::Communicator& world) {
  world.engine().recorder().set_role(describe_stage(plan, plan.place.pp));
  if (!plan.launch.device_collectives.empty() && !world.has_device_transport())
    world.set_device_transport(open_streams(plan, world), plan.reduce_order);
  auto groups = std::make_unique<parallel::Groups>(
      plan.layout, world, parallel::channels_of(pipeline_of(plan)), plan.spec.key_value_heads);
  if (optim::updates_matrices(plan.optimizer) || optim::factors_moments(plan.optimizer))
    groups->make_stage(plan.layout);
  return groups;
}

}  // namespace dt::plan
