#pragma once
// FLOP counts of a model, derived from its spec.

#include <cstdint>
#include <vector>

#include "model/model_spec.hpp"

namespace dt::model {

/// The model FLOPs of a unit per token.
struct UnitFlops {
  double forward = 0;
  double backward_input = 0;
  double backward_weight = 0;

  double sum() const { return forward + backward_input + backward_weight; }
};

/// Returns the FLOPs of each unit. Each of the three counts is 2 · the unit's matmul parameters.
/// All matrices count, even the head's if it is tied. Attention has no weights: it adds
/// 4 · heads · head_dim · keys to a block's forward and twice that to its backward_input. `keys` is
/// the length of the sequence or of the layer's window, whichever is shorter. The embedding has no matmul,
/// so its counts are 0.
std::vector<UnitFlops> unit_flops_per_token(const ModelSpec& spec, std::int64_t sequence_length);

/// Returns the sum over units: 6 · matmul parameters + 12 · heads · head_dim · the layers' keys.
double flops_per_token(const ModelSpec& spec, std::int64_t sequence_length);

}  // namespace dt::model
