#include "train/checkpoint_header.hpp"

#include <nlohmann/json.hpp>

#include "train/conditions.hpp"
#include "train/precision.hpp"

namespace dt::train {

namespace {

const char* schedule_name(optim::ScheduleKind kind) {
  switch (kind) {
    case optim::ScheduleKind::cosine:
      return "cosine";
    case optim::ScheduleKind::linear:
      return "linear";
    case optim::ScheduleKind::constant:
      return "constant";
    case optim::ScheduleKind::wsd:
      return "wsd";
  }
  return "";
}

std::string describe_schedule(const optim::Schedule& s) {
  return nlohmann::ordered_json{{"kind", schedule_name(s.kind)},
                                {"lr", s.lr},
                                {"min_lr", s.min_lr},
                                {"warmup_steps", s.warmup_steps},
                                {"decay_steps", s.decay_steps},
                                {"total_steps", s.total_steps}}
      .dump();
}

}  // namespace

checkpoint::Manifest checkpoint_header(const Plan& plan, const checkpoint::TrainingState& state,
                                       const checkpoint::Generation& generation) {
  checkpoint::Manifest manifest;
  manifest.state = state;
  manifest.state.global_batch = plan.global_batch;
  manifest.state.micro_batch = plan.micro_batch;
  manifest.state.grad_lanes = plan.grad_lanes;
  manifest.state.precision = precision_name(plan.precision.compute);
  if (plan.precision.compute == DType::bf16) manifest.state.matmul = precision_name(plan.multiply);
  manifest.state.schedule = describe_schedule(plan.schedule);
  manifest.state.conditions = describe_conditions(plan);
  manifest.model = plan.spec;
  manifest.mesh.dp = plan.place.dp;
  manifest.mesh.zero = plan.zero;
  manifest.generation = generation.number;
  manifest.parent = generation.continues;
  return manifest;
}

}  // namespace dt::train
