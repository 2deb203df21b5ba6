#pragma once
// Proves that an action list is complete and in order, without running it.

#include <span>
#include <string>
#include <vector>

#include "parallel/schedule/action.hpp"
#include "parallel/schedule/builders.hpp"
#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

/// Checks the lists of a training step. lists[p · dp + d] is that of stage rank p of the
/// data-parallel rank with shapes[d]. Each rank's list must keep these rules:
/// - Every forward comes once, after its predecessor's. The last unit's forwards come in the order of
///   micro-batches, as the head adds to its gradients in them.
/// - Every backward_input comes once, after the forward and its successor's backward_input. It
///   needs what the forward saved: only a block may be discarded, and a recompute must follow.
/// - Every backward_weight comes once, after its backward_input and after the unit's backward_weight
///   of the previous micro-batch, as a unit's gradients are summed in order.
/// - Every reduce comes once, after the unit's last backward_weight. If each micro-batch is
///   reduced, it comes once after that of each micro-batch. A rank with fewer micro-batches than
///   others then also reduces without one, as often as the others.
/// - Control and step follow, each once, and nothing after them.
/// - If weights are gathered, computations with a unit's weights come after its gather. If weights
///   are freed too, the computations come before the unit's free. At most two units are then whole
///   at a time, and none at the end.
/// - A unit that another rank computes before (after) must have sent its output (gradient). A receive
///   comes once, and at most two of each communicator wait to be used. A send comes once, after what
///   it sends is made.
/// - If a tied table has two holders, the last unit's sum goes to the owner between its reduce and
///   control. The new weights go back after the step.
/// - If each micro-batch's gradients are reduced, the reduce comes before the same unit's next
///   gradients begin. The head's begin with its forward.
///
/// validate_no_deadlock() then checks all lists together.
/// Errors: internal, naming the rank and the first action that is out of order, or missing.
void validate_training_steps(std::span<const ActionList> lists, std::span<const StepShape> shapes,
                             const Pipeline& pipeline);

/// Checks that ranks of `pp` stages cannot deadlock, whatever the times; see simulate_timeline(). Takes
/// lists of evaluations as well as of steps.
/// Errors: internal, naming the first difference, or the first rank that waits and its action.
void validate_no_deadlock(std::span<const ActionList> lists, int pp = 1);

}  // namespace dt::parallel
