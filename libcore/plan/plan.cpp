#include "plan/plan.hpp"

#include <fmt/format.h>

#include "model/flops.hpp"

namespace dt::plan {

parallel::LanePlan Plan::lane_plan() const {
  return parallel::LanePlan(micro_batches_per_step, grad_lanes).of_rank(place.dp, layout.dp);
}

std::vector<optim::StateKind> Plan::state_kinds() const {
  std::vector<optim::StateKind> kinds = optim::state_kinds(optimizer);
  if (ema > 0) kinds.emplace_back(kernels::average_kind);
  return kinds;
}

std::string Plan::describe_gradient_reduction() const {
  const bool is_by_rounds = layout.zero >= 2 && max_micro_batches() > 1;
  return is_by_rounds ? fmt::format("by rounds of {} ranks in groups of {}", layout.dp, layout.group_size())
                      : "by lanes";
}

double Plan::flops_per_token() const {
  return model::flops_per_token(spec, sequence_length);
}

parallel::StepShape step_shape(const Plan& plan, int num_units) {
  const parallel::LanePlan lanes = plan.lane_plan();
  return {.num_units = num_units,
          .first_micro_batch = static_cast<int>(lanes.first_micro_batch()),
          .num_micro_batches = static_cast<int>(lanes.num_micro_batches()),
          .max_micro_batches = static_cast<int>(plan.max_micro_batches()),
          .recompute = plan.recompute == Recompute::full,
          .zero = plan.layout.zero};
}

}  // namespace dt::plan
