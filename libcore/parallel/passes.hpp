#pragma once
// From what a rank computes to all that it does: each pass adds to one rank's list what follows from what is
// there.

#include "parallel/action.hpp"
#include "parallel/pipeline.hpp"

namespace dt::parallel {

/// A rank's computations, unit by unit: micro-batches numbered from 0, all that the schedule has.
ActionList computations_of(const Pipeline& pipeline, int rank);

/// Weights are gathered one unit ahead of their use, within what a rank computes in a row: each unit's before
/// its first forward; or, where they are freed after use (`frees`), for each forward and for each backward of
/// a block (the embedding's needs no weights). Where a unit's backward follows its forward at once, its
/// weights stay between them.
ActionList with_gathers(const ActionList& list, bool frees);

/// A unit is reduced after its last backward_weight; or (`each`) after that of each micro-batch, as whole
/// gradients of only one are held. The head makes them in its forward: where the next forward comes before
/// the backward_weight, it is reduced after its forward.
ActionList with_reduces(const ActionList& list, int last_unit, bool each);

/// Without what is computed of micro-batches from `num_micro_batches` on, which this rank lacks; what ranks
/// do together stays. The others' numbers begin with `first`.
ActionList without_missing(const ActionList& list, int first, int num_micro_batches);

/// What the forward of a block saved is discarded after it, and made again before its backward (Chen et al.
/// 2016, section 4), unless nothing but the head's work on the same micro-batch is done between them: then
/// nothing would be gained. That is the last block's lot where each micro-batch goes back at once, on
/// 1F1B's last rank.
ActionList with_recompute(const ActionList& list, int last_unit);

/// An output or a gradient that another rank needs is sent as soon as it is made. A receive from a rank comes
/// before its predecessor is used, so that one is under way while the other is in use; but after what this
/// rank has sent of the micro-batch, without which there is nothing to receive: a GPU waits for a message
/// with a part of itself, and CUDA may hold up a kernel's first launch for as long.
ActionList with_transfers(const ActionList& list, const Pipeline& pipeline, int rank);

/// The tied table's gradients meet on its owner before the decision point, and its other holder gets the new
/// weights after the step; both follow in the list.
ActionList with_end(ActionList list, const Pipeline& pipeline, int rank);

}  // namespace dt::parallel
