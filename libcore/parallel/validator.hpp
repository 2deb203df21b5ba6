#pragma once
// Proof that an action list is complete and in order, without running it.

#include <span>
#include <string>
#include <vector>

#include "parallel/action.hpp"
#include "parallel/builders.hpp"

namespace dt::parallel {

/// Every forward once and after its predecessor's, the last unit's in the order of micro-batches, as the head
/// adds to its gradients in them; every backward_input once, after the forward and its successor's
/// backward_input, and with what the forward saved: a discard, of a block alone, is followed by a recompute;
/// every backward_weight once, after its backward_input and after the unit's backward_weight of the
/// micro-batch before, as a unit's gradients are summed in order; every reduce once, after the unit's last
/// backward_weight, or once after that of each micro-batch, and as often without one as other ranks have
/// more; then control, then step, each once, nothing after. Where weights are gathered: whatever computes
/// with a unit's comes after its gather; where they are freed too: before its free, at most two units are
/// whole at a time, and none at the end. Error{internal} naming the first action that is out of order, or the
/// first that is missing.
void validate_training_step(const ActionList& list, const StepShape& shape);

/// What ranks do together (gather, reduce, control) is in the same order in all their lists, so that none
/// waits for another in vain. Error{internal} naming the first difference.
void validate_together(std::span<const ActionList> lists);

}  // namespace dt::parallel
