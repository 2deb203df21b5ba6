#pragma once
// Counts that follow from a spec.

#include <cstdint>
#include <vector>

#include "model/model_spec.hpp"

namespace dt::model {

/// Model FLOPs of a unit per token.
struct UnitFlops {
  double forward = 0;
  double backward_input = 0;
  double backward_weight = 0;

  double sum() const { return forward + backward_input + backward_weight; }
};

/// Of each unit: 2 · its matmul parameters (all matrices, the head's also when tied) in each of the three; in
/// a block's forward 4 · heads · head_dim · keys more and in its backward_input twice that, attention having
/// no weights. Keys are the sequence's or, where that is shorter, the window's. The embedding multiplies
/// nothing.
std::vector<UnitFlops> unit_flops_per_token(const ModelSpec& spec, std::int64_t sequence_length);

/// The sum over units: 6 · matmul parameters + 12 · layers · heads · head_dim · keys.
double flops_per_token(const ModelSpec& spec, std::int64_t sequence_length);

}  // namespace dt::model
