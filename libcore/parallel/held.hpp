#pragma once
// What a list makes its rank hold of activations, worked out from the list as the executor goes about it.

#include <cstdint>
#include <span>

#include "parallel/action.hpp"

namespace dt::parallel {

/// Of one micro-batch; see model::Unit. With {.saved = 1} for every block, what is counted is micro-batches ×
/// blocks.
struct UnitBytes {
  std::int64_t output = 0;
  std::int64_t saved = 0;
  std::int64_t handover = 0;
};

/// The most bytes that activations and their gradients take at one time of a training step. `units` are all
/// of the model's. What is sent counts until the second send after it in its communicator, or control, by
/// when it is complete for certain.
std::int64_t most_held_bytes(const ActionList& list, std::span<const UnitBytes> units);

}  // namespace dt::parallel
