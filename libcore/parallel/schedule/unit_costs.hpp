#pragma once
// Counts what units take of a rank's time: good enough to lay them out on stages before any has run.

#include <cstdint>
#include <vector>

#include "model/model_spec.hpp"
#include "parallel/schedule/stages.hpp"

namespace dt::parallel {

/// Returns the costs of each unit. The head's forward has all three of its products, as it makes
/// its gradients in it. With `recompute` a block's backward_input includes its forward again. The
/// embedding counts the additions of its gradient, one for each element. That is almost nothing,
/// but keeps a stage of the embedding alone from being free.
/// Units: FLOPs a token.
std::vector<UnitCost> unit_costs(const model::ModelSpec& spec, std::int64_t sequence_length, bool recompute);

}  // namespace dt::parallel
