#pragma once
// Passes extend the list of a rank's computations to all of its actions. Each pass adds the actions
// that follow from those in the list.

#include "parallel/schedule/action.hpp"
#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

/// Returns a rank's computations, unit by unit, of all micro-batches that the schedule has, numbered
/// from 0.
ActionList computations_of(const Pipeline& pipeline, int rank);

/// Adds gathers of weights. If the next unit's computation of the same micro-batch follows at once,
/// its gather starts one unit ahead. Each unit is gathered before its first forward. If weights are
/// freed after use (`frees`), a unit is gathered for each forward and for each backward of a block
/// (the embedding's backward needs no weights). If a unit's backward follows its forward at once,
/// its weights stay between them.
ActionList with_gathers(const ActionList& list, bool frees);

/// Adds reduces. A unit is reduced after its last backward_weight. With `each` it is reduced after
/// that of each micro-batch, as ranks hold whole gradients of only one micro-batch. The head makes
/// its gradients in its forward: if the next forward comes before the backward_weight, it is
/// reduced after its forward.
ActionList with_reduces(const ActionList& list, int last_unit, bool each);

/// Removes computations of micro-batches from `num_micro_batches` on, which this rank lacks. What
/// ranks do together stays. The other micro-batches' numbers begin with `first`.
ActionList without_absent_micro_batches(const ActionList& list, int first, int num_micro_batches);

/// Adds recomputation. What the forward of a block saved is discarded after it, and recomputed
/// before its backward. If nothing but the head's work on the same micro-batch comes between them,
/// this would gain nothing, and the block is left as it is. This holds for the last block if each
/// micro-batch goes back at once, as on 1F1B's last rank.
/// Source: Chen et al. 2016, section 4.
ActionList with_recompute(const ActionList& list, int last_unit);

/// Adds sends and receives. An output or a gradient that another rank needs is sent as soon as it
/// is made. A receive from a rank starts before the data of the previous receive are used, so that
/// one is in flight while the other is in use. But it starts after this rank's last send of the
/// same micro-batch, without which there is nothing to receive. A receive that waits on a GPU
/// occupies a part of it, and CUDA may delay a kernel's first launch for as long.
ActionList with_transfers(const ActionList& list, const Pipeline& pipeline, int rank);

/// Adds the end of a step. The tied table's gradients meet on its owner before the decision point,
/// and its other holder gets the new weights after the step.
ActionList with_step_end(ActionList list, const Pipeline& pipeline, int rank);

}  // namespace dt::parallel
