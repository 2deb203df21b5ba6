#pragma once
// Functions that emit action lists.

#include "parallel/action.hpp"

namespace dt::parallel {

/// What one rank does of a step whose micro-batches are divided among ranks. Micro-batches first, first + 1,
/// … (numbers within the step) one after the other, each forward then backward through all units; a unit is
/// reduced as soon as its last backward is done, then the decision point and the optimizer. A rank without
/// micro-batches takes part in the rest.
///
/// With `recompute` blocks keep only their input: what their forward saved is discarded, and made again
/// before their backward (Chen et al. 2016, section 4). The last block's backward comes so soon that nothing
/// would be gained.
ActionList build_training_step(int num_units, int first_micro_batch, int num_micro_batches,
                               bool recompute = false);

/// Forwards only, of micro-batches from 0.
ActionList build_evaluation(int num_units, int num_micro_batches);

}  // namespace dt::parallel
