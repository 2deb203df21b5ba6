#pragma once
// Proof that an action list is complete and in order, without running it.

#include <span>
#include <string>
#include <vector>

#include "parallel/action.hpp"
#include "parallel/builders.hpp"
#include "parallel/pipeline.hpp"

namespace dt::parallel {

/// Of each rank's list: every forward once and after its predecessor's, the last unit's in the order of
/// micro-batches, as the head adds to its gradients in them; every backward_input once, after the forward and
/// its successor's backward_input, and with what the forward saved: a discard, of a block alone, is followed
/// by a recompute; every backward_weight once, after its backward_input and after the unit's backward_weight
/// of the micro-batch before, as a unit's gradients are summed in order; every reduce once, after the unit's
/// last backward_weight, or once after that of each micro-batch, and as often without one as other ranks have
/// more; then control, then step, each once, nothing after. Where weights are gathered: whatever computes
/// with a unit's comes after its gather; where they are freed too: before its free, at most two units are
/// whole at a time, and none at the end.
///
/// lists[p · dp + d] is that of stage rank p of the data-parallel rank with shapes[d]. A unit that another
/// rank computes before (after) must have sent its output (gradient): a receive, once, of at most two of each
/// communicator that wait to be used; a send, once, after what it sends is made. Where a tied table has two
/// holders, the last unit's sum goes to the owner between its reduce and control, the new weights back after
/// the step. Where each micro-batch's gradients are reduced, they are before the next one's of the same unit
/// begin: the head's with its forward. Then validate_together(). Error{internal} naming the rank and the
/// first action that is out of order, or missing.
void validate_training_steps(std::span<const ActionList> lists, std::span<const StepShape> shapes,
                             const Pipeline& pipeline);

/// Whatever the times, no rank of `pp` stages waits for another in vain; see walk_together(). Of evaluations
/// as of steps. Error{internal} naming the first difference, or the first rank that waits and its action.
void validate_together(std::span<const ActionList> lists, int pp = 1);

}  // namespace dt::parallel
