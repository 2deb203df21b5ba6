#pragma once
// Functions that emit action lists.

#include "parallel/action.hpp"

namespace dt::parallel {

/// What a rank's part of a step is made of.
struct StepShape {
  int num_units = 0;
  int first_micro_batch = 0;  // numbers are those within the step
  int num_micro_batches = 0;
  /// The most micro-batches of any rank: where ranks bring weights together, all do it as often.
  int rounds = 0;
  /// Blocks keep only their input: what their forward saved is discarded, and made again before their
  /// backward (Chen et al. 2016, section 4). The last block's backward comes so soon that nothing would be
  /// gained.
  bool recompute = false;
  int zero = 0;  // the stage; see Division

  /// Whether the ranks hold parts of the weights when a step begins.
  bool gathers() const { return zero >= 1; }
  bool reduces_each_micro_batch() const { return zero >= 2; }
  bool frees() const { return zero >= 3; }
};

/// What one rank does of a step whose micro-batches are divided among ranks: one after the other, each
/// forward then backward through all units; then the decision point and the optimizer. A unit is reduced as
/// soon as its last backward is done, or each of them. Weights are gathered one unit ahead of their use, once
/// a step, or, where they are freed after use, for each forward and for each backward of a block (the head's
/// backward follows its forward, the embedding's needs no weights). A rank without micro-batches takes part
/// in what ranks do together.
ActionList build_training_step(const StepShape& shape);

/// Forwards only, of micro-batches from 0; as often as `rounds` says where weights are gathered.
ActionList build_evaluation(const StepShape& shape);

}  // namespace dt::parallel
