#pragma once
// What will be done, worked out from the settings, the model, the data and, where a run goes on, its
// checkpoint.

#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.hpp"
#include "checkpoint/manifest.hpp"
#include "data/mixture.hpp"
#include "model/layout.hpp"
#include "model/model_spec.hpp"
#include "model/unit.hpp"
#include "optim/adamw.hpp"
#include "optim/loss_scale.hpp"
#include "optim/schedule.hpp"
#include "parallel/builders.hpp"
#include "parallel/lanes.hpp"
#include "parallel/model_storage.hpp"
#include "plan/choose_layout.hpp"
#include "plan/launch.hpp"
#include "plan/settings.hpp"

namespace dt::plan {

/// What is computed again in the backward instead of being kept.
enum class Recompute { none, selective, full };
/// "selective"; as users and files name it.
const char* recompute_name(Recompute recompute);

struct Plan {
  model::ModelSpec spec;
  parallel::Precision precision;
  Arithmetic arithmetic = Arithmetic::fp32;  // of matrices; see choose_arithmetic
  Recompute recompute = Recompute::none;
  Launch launch;
  model::Layout layout;
  model::Place place;  // this rank's
  bool overlap = true;
  int tp_chunks = 1;  // of rows, in which layers that ranks share are exchanged
  std::size_t comm_bucket_bytes = 0;
  comm::ReduceOrder reduce_order = comm::ReduceOrder::tree;  // of GPUs that talk through NCCL
  double comm_timeout_s = 0;
  Device device = Device::host();  // that this rank computes on
  int threads = 1;
  std::uint64_t seed = 0;
  std::int64_t sequence_length = 0;
  bool mask_documents = false;
  std::int64_t global_batch = 0;
  std::int64_t micro_batch = 0;
  std::int64_t micro_batches_per_step = 0;
  std::int64_t grad_lanes = 1;
  std::int64_t total_steps = 0;  // counted from the run's beginning
  bool saves_in_background = false;
  std::optional<std::int64_t> writers_per_node;  // that write checkpoints; none: each rank
  optim::Schedule schedule;
  optim::AdamWSettings adamw;
  double clip_norm = 1;
  std::optional<optim::LossScaleSettings> loss_scale;  // in fp16

  /// How a step's gradients are summed, in words: plans that say the same sum in the same order, as long as
  /// their lanes are the same and whole.
  std::string gradient_sum() const;
  /// The most micro-batches of any rank.
  std::int64_t rounds() const { return (micro_batches_per_step + layout.dp - 1) / layout.dp; }
  /// The step's micro-batches that this rank computes.
  parallel::LanePlan lanes() const;
  std::int64_t tokens_per_step() const { return global_batch * sequence_length; }
  double flops_per_token() const;
  /// Of each sequence, what a rank computes.
  std::int64_t local_length() const { return sequence_length / layout.cp; }
  /// Whether no layer is shared, no sequence divided, by ranks of different nodes.
  bool has_tensor_within_nodes() const { return has_within_nodes(layout.tp, layout.tp); }
  bool has_context_within_nodes() const { return has_within_nodes(layout.cp, layout.tp * layout.cp); }
  model::Kept kept() const {
    return recompute == Recompute::selective ? model::Kept::matmuls : model::Kept::everything;
  }

 private:
  /// Groups of `size` ranks that lie among `span` ranks in a row.
  bool has_within_nodes(int size, int span) const {
    return size == 1 || layout.size() <= launch.ranks_per_node ||
           (launch.ranks_per_node > 0 && launch.ranks_per_node % span == 0);
  }
};

/// What this rank does in a step.
parallel::StepShape step_shape(const Plan& plan, int num_units);

/// Errors: usage, naming the option and what is allowed (a batch that micro-batches do not divide); input,
/// where data and model do not fit each other (vocabulary, positions, too little data). `resumed` is the
/// state that the run goes on from, if any. Without a dataset, which a plan on paper need not have, nothing
/// is checked of it, and --epochs is refused.
Plan make_plan(const Settings& settings, const model::ModelSpec& spec, const data::Mixture* dataset,
               const Launch& launch, const checkpoint::TrainingState* resumed);

/// The part of a plan that evaluation needs: no steps, no schedule.
Plan make_evaluation_plan(const Settings& settings, const model::ModelSpec& spec,
                          const data::Mixture& dataset, const Launch& launch);

}  // namespace dt::plan
