#pragma once
// Functions that emit action lists.

#include <vector>

#include "parallel/action.hpp"
#include "parallel/pipeline.hpp"

namespace dt::parallel {

/// What a rank's part of a step is made of.
struct StepShape {
  int num_units = 0;
  int first_micro_batch = 0;  // numbers are those within the step
  int num_micro_batches = 0;
  /// The most micro-batches of any rank: where ranks bring weights together, all do it as often.
  int rounds = 0;
  /// Blocks keep only their input; see with_recompute().
  bool recompute = false;
  int zero = 0;  // see Division

  /// Whether the ranks hold parts of the weights when a step begins.
  bool gathers() const { return zero >= 1; }
  bool reduces_each_micro_batch() const { return zero >= 2; }
  bool frees() const { return zero >= 3; }
};

/// What each rank of a pipeline does of a step: what the schedule says, and what passes make follow from it;
/// then the decision point and the optimizer. All data-parallel ranks follow one schedule, made for the most
/// micro-batches of any: what a rank lacks it neither computes nor sends, but takes part in what ranks do
/// together. `shape.num_units` and `rounds` are the pipeline's.
std::vector<ActionList> build_training_steps(const StepShape& shape, const Pipeline& pipeline);

/// The forwards of the same; where weights are gathered, as often as the pipeline's schedule has
/// micro-batches.
std::vector<ActionList> build_evaluations(const StepShape& shape, const Pipeline& pipeline);

}  // namespace dt::parallel
