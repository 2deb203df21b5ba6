#pragma once
// Lists the operations that dt's ranks compute in a training step on GPUs, and the time that the step
// takes.

#include <string>
#include <vector>

#include "parallel/schedule/stages.hpp"
#include "plan/plan.hpp"
#include "plan/time/forecast.hpp"
#include "plan/time/roofline.hpp"

namespace dt::plan {

/// Properties of the kernels that training has. Each can be turned off to see what it is worth.
struct KernelFeatures {
  bool aligned_head = true;        // the head's products have whole 16 bytes of columns
  bool block_per_row = true;       // cross-entropy starts as many blocks as there are rows
  bool whole_mlp_backward = true;  // the MLP's backward takes all rows at once, not 1,024 at a time
  bool few_instructions = true;    // activations, norms and roundings wait for memory, not for instructions;
                                   // products make the gradients of biases
};

/// The operations of a unit for one micro-batch.
struct UnitOperations {
  std::vector<Operation> forward, backward_input, backward_weight;
};

/// The operations of the plan's rank.
struct StepOperations {
  std::vector<UnitOperations> units;  // by number of the model's unit; the rank's share of each
  std::vector<Operation> step;        // once a step: norm of gradients, optimizer, zeroing
};

/// Returns the operations of the plan's rank.
/// Errors: usage, training is not in 16 bits.
StepOperations step_operations(const Plan& plan, const KernelFeatures& traits);

/// A step of the busiest stage.
struct StepRoofline {
  double step_s = 0;
  double computing_s = 0;   // part of step_s
  double tokens_per_s = 0;  // over all ranks
  double mfu = 0;
  std::vector<Operation> operations{};                       // with their counts a step
  double waiting_s() const { return step_s - computing_s; }  // for other ranks: exchanges, idle stages
};

/// Returns the seconds that each unit takes for a micro-batch.
std::vector<parallel::UnitCost> roofline_unit_times(const Plan& plan, const GpuRates& rates,
                                                    const KernelFeatures& traits = {});

StepRoofline roofline_of(const Plan& plan, const GpuRates& rates, LinkBandwidths links,
                         const KernelFeatures& traits = {});

}  // namespace dt::plan
