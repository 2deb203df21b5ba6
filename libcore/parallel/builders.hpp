#pragma once
// Functions that emit action lists.

#include "parallel/action.hpp"

namespace dt::parallel {

/// Micro-batches one after the other, each forward then backward through all units; a unit is reduced as soon
/// as its last backward is done, then the decision point and the optimizer.
ActionList build_training_step(int num_units, int num_micro_batches);

/// Forwards only.
ActionList build_evaluation(int num_units, int num_micro_batches);

}  // namespace dt::parallel
