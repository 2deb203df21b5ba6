#pragma once
// Counts that follow from a spec.

#include <cstdint>

#include "model/model_spec.hpp"

namespace dt::model {

/// Parameters that multiply activations: all matrices, the head included (also when tied), embeddings not.
std::int64_t matmul_parameters(const ModelSpec& spec);

/// Model FLOPs per token, forward and backward: 6 · matmul parameters + 12 · layers · heads · head_dim ·
/// keys, which are the sequence's or, where that is shorter, the window's.
double flops_per_token(const ModelSpec& spec, std::int64_t sequence_length);

}  // namespace dt::model
