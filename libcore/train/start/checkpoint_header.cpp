#include "train/start/checkpoint_header.hpp"

#include "plan/precision.hpp"
#include "train/start/conditions.hpp"

namespace dt::train {

checkpoint::Manifest checkpoint_header(const plan::Plan& plan, const checkpoint::TrainingState& state,
                                       const run::Generation& generation,
                                       const std::vector<std::string>& gpu_products) {
  checkpoint::Manifest manifest;
  manifest.state = state;
  manifest.state.global_batch = plan.global_batch;
  manifest.state.micro_batch = plan.micro_batch;
  manifest.state.grad_lanes = plan.grad_lanes;
  manifest.state.precision = plan::precision_name(plan.precision.compute);
  if (plan.precision.compute == DType::bf16 && plan.device == Device::host())
    manifest.state.matmul = name_of(plan.arithmetic);
  manifest.state.schedule = describe_schedule(plan.schedule);
  manifest.state.conditions = describe_conditions(plan, gpu_products);
  manifest.model = plan.spec;
  manifest.mesh = plan.layout;
  manifest.generation = generation.number;
  manifest.parent = generation.continues;
  return manifest;
}

}  // namespace dt::train
