#pragma once
// The plan of a run: the decisions on what its ranks do. plan/planner.hpp makes plans.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "base/numeric/integer.hpp"
#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "model/units/unit.hpp"
#include "optim/gradient_scale.hpp"
#include "optim/learning_rate_schedule.hpp"
#include "optim/optimizer.hpp"
#include "parallel/schedule/builders.hpp"
#include "parallel/state/gradient_lanes.hpp"
#include "parallel/state/model_storage.hpp"
#include "plan/launch.hpp"
#include "plan/parameter_settings.hpp"
#include "plan/requests.hpp"

namespace dt::plan {

struct Plan {
  model::ModelSpec spec;
  parallel::Precision precision;
  std::optional<Arithmetic> matmul;          // as asked; none: the fastest
  Arithmetic arithmetic = Arithmetic::fp32;  // for products of matrices; see choose_arithmetic
  Recompute recompute = Recompute::none;
  Launch launch;
  model::Layout layout;
  model::MeshCoordinates place;  // this rank's
  bool overlap = true;
  int tp_chunks = 1;  // chunks of rows in which tensor-parallel ranks exchange
  std::size_t comm_bucket_bytes = 0;
  comm::ReduceOrder reduce_order = comm::ReduceOrder::tree;  // for GPUs that communicate through NCCL
  double comm_timeout_s = 0;
  Device device = Device::host();  // this rank's device
  int threads = 1;
  bool has_default_threads = true;  // --threads is not given
  std::uint64_t seed = 0;
  std::int64_t sequence_length = 0;
  bool mask_documents = false;
  std::int64_t global_batch = 0;
  std::int64_t micro_batch = 0;
  std::int64_t micro_batches_per_step = 0;
  std::int64_t grad_lanes = 1;
  std::int64_t total_steps = 0;  // counted from the run's beginning
  optim::LearningRateSchedule schedule;
  optim::OptimizerSettings optimizer;
  double ema = 0;  // decay of the moving average of the weights; 0: no average
  ParameterSettings parameter_settings;
  double clip_norm = 1;
  double z_loss = 0;                                   // coefficient of z-loss; 0: none
  double qk_clip = 0;                                  // bound on attention scores (QK-clip); 0: none
  std::optional<optim::LossScaleSettings> loss_scale;  // for fp16
  ResumeRequest resume;
  DurationRequest duration;           // total_steps follows from it
  LearningRateRequest learning_rate;  // schedule follows from it
  SaveRequest save;                   // in the background only if training goes on during a save
  EvaluationRequest evaluation;
  LoggingRequest logging;
  std::optional<StepRange> profiled_steps;
  ForecastRequest forecast;

  /// Returns how a step's gradients are summed, in words. Plans with the same words sum in the same
  /// order if their lanes are the same and whole.
  std::string describe_gradient_reduction() const;
  /// Returns the kinds of state beside the weights: those of the optimizer, then that of the average.
  std::vector<optim::StateKind> state_kinds() const;
  /// Returns the most micro-batches of any rank.
  std::int64_t max_micro_batches() const { return ceil_div(micro_batches_per_step, layout.dp); }
  /// Returns the step's micro-batches that this rank computes.
  parallel::LanePlan lane_plan() const;
  std::int64_t tokens_per_step() const { return global_batch * sequence_length; }
  double flops_per_token() const;
  /// Returns the length of the part of each sequence that a rank computes.
  std::int64_t local_length() const { return sequence_length / layout.cp; }
  /// Returns whether all ranks that share a layer, or divide a sequence, are on one node.
  bool has_tensor_within_nodes() const { return has_within_nodes(layout.tp, layout.tp); }
  bool has_context_within_nodes() const { return has_within_nodes(layout.cp, layout.tp * layout.cp); }
  model::SavedActivations saved_activations() const {
    return recompute == Recompute::selective ? model::SavedActivations::matmuls
                                             : model::SavedActivations::all;
  }

 private:
  /// Returns whether groups of `size` ranks, each among `span` ranks in a row, lie within nodes.
  bool has_within_nodes(int size, int span) const {
    return size == 1 || layout.size() <= launch.ranks_per_node ||
           (launch.ranks_per_node > 0 && launch.ranks_per_node % span == 0);
  }
};

/// Returns the shape of this rank's step.
parallel::StepShape step_shape(const Plan& plan, int num_units);

}  // namespace dt::plan
