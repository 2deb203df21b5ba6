#pragma once
// Works out, from a list, what activations it makes its rank hold as the executor runs it.

#include <cstdint>
#include <span>

#include "parallel/action.hpp"

namespace dt::parallel {

/// Bytes of a unit for one micro-batch; see model::Unit. With {.saved = 1} for every block, the count
/// is micro-batches × blocks.
struct UnitBytes {
  std::int64_t output = 0;
  std::int64_t saved = 0;
  std::int64_t handover = 0;
};

/// Returns the bytes that the pool of activations and their gradients comes to have in a training
/// step. Each size has its own buffers, and different sizes have their maximum at different times.
/// `units` are all units of the model. A sent buffer counts until the second send after it in its
/// communicator, or until control, when it is complete for certain.
std::int64_t most_held_bytes(const ActionList& list, std::span<const UnitBytes> units);

}  // namespace dt::parallel
