#pragma once
// What units take of a rank's time, by counting; good enough to lay them on stages before any has run.

#include <cstdint>
#include <vector>

#include "model/model_spec.hpp"
#include "parallel/stages.hpp"

namespace dt::parallel {

/// Of each unit, in FLOPs a token. The head's forward holds all three of its products, as it makes its
/// gradients in it. With `recompute` a block's backward_input holds its forward again. The embedding counts
/// what its gradient adds up, an addition an element: next to nothing, but a stage of its own is not free.
std::vector<UnitCost> unit_costs(const model::ModelSpec& spec, std::int64_t sequence_length, bool recompute);

}  // namespace dt::parallel
