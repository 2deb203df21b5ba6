#pragma once
// Builds action lists.

#include <vector>

#include "parallel/schedule/action.hpp"
#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

/// The shape of a rank's part of a step.
struct StepShape {
  int num_units = 0;
  int first_micro_batch = 0;  // numbered within the step
  int num_micro_batches = 0;
  /// The most micro-batches of any rank. If ranks gather weights, all ranks gather them as often.
  int max_micro_batches = 0;
  /// If true, blocks keep only their input; see with_recompute() in builders.cpp.
  bool recompute = false;
  int zero = 0;  // see ZeroSharding

  /// Returns whether the ranks hold shards of the weights when a step begins.
  bool gathers_weights() const { return zero >= 1; }
  bool reduces_each_micro_batch() const { return zero >= 2; }
  bool frees_weights() const { return zero >= 3; }
};

/// Returns what each rank of a pipeline does in a step: the schedule's computations, the actions
/// that passes add, then the decision point and the optimizer. All data-parallel ranks follow one
/// schedule, made for the most micro-batches of any rank. A rank neither computes nor sends the
/// micro-batches that it lacks, but it takes part in all collectives. `shape.num_units` and
/// `rounds` are the pipeline's.
std::vector<ActionList> build_training_steps(const StepShape& shape, const Pipeline& pipeline);

/// Returns only the end of a training step, for steps that only change weights: StepHooks::step, and the
/// transfer of the tied table to the other rank that holds it.
ActionList build_weight_change(const Pipeline& pipeline, int rank);

/// Returns the lists of the forward passes alone. If ranks gather weights, they do so as often as
/// the pipeline's schedule has micro-batches.
std::vector<ActionList> build_evaluations(const StepShape& shape, const Pipeline& pipeline);

}  // namespace dt::parallel
