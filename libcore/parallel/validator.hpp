#pragma once
// Proof that an action list is complete and in order, without running it.

#include <string>
#include <vector>

#include "parallel/action.hpp"

namespace dt::parallel {

/// Every forward once and after its predecessor's, the last unit's in the order of micro-batches, as the head
/// adds to its gradients in them; every backward_input once, after the forward and its successor's
/// backward_input, and with what the forward saved: a discard, of a block alone, is followed by a recompute;
/// every backward_weight once, after its backward_input and after the unit's backward_weight of the
/// micro-batch before, as a unit's gradients are summed in order; every reduce once, after the unit's last
/// backward_weight; then control, then step, each once, nothing after. Error{internal} naming the first
/// action that is out of order, or the first that is missing. The list is of the step's micro-batches first,
/// first + 1, … (see build_training_step).
void validate_training_step(const ActionList& list, int num_units, int first_micro_batch,
                            int num_micro_batches);

}  // namespace dt::parallel
