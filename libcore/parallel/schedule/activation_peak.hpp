#pragma once
// Computes, from a list, the activations that its rank holds while the executor runs it.

#include <cstdint>
#include <span>

#include "parallel/schedule/action.hpp"

namespace dt::parallel {

/// Bytes of a unit for one micro-batch; see model::Unit. With {.saved = 1} for every block, the count
/// is micro-batches × blocks.
struct UnitBytes {
  std::int64_t output = 0;
  std::int64_t saved = 0;
  std::int64_t backward_handoff = 0;
};

/// Returns the bytes to which the pool of activations and their gradients grows in a training step.
/// Each size has its own buffers, and different sizes have their maximum at different times.
/// `units` are all units of the model. A sent buffer counts until the second send after it in its
/// communicator, or until control, by which the send is certainly complete.
std::int64_t activation_peak_bytes(const ActionList& list, std::span<const UnitBytes> units);

}  // namespace dt::parallel
