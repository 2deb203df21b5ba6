#pragma once
// Allocates the buffers that a list takes from a rank's pools before the list runs. A device then
// allocates nothing while receives wait in its streams.

#include "parallel/engine/activations.hpp"
#include "parallel/schedule/action.hpp"
#include "parallel/state/model_storage.hpp"

namespace dt::parallel {

/// Allocates the buffers that the pools lack for a list. If memory is short, it stops, and the list
/// allocates the rest or fails. `activations` have been started on the list's micro-batches. With
/// `finishes_each`, each sum over the ranks ends with the action that starts it.
void preallocate(const ActionList& list, bool trains, bool finishes_each, Activations& activations,
                 ModelStorage& storage);

}  // namespace dt::parallel
