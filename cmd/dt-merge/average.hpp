#pragma once
// The option --average: the weight of each checkpoint.

#include <cstddef>
#include <string>
#include <vector>

namespace dt::merge_tool {

/// Returns one weight per checkpoint, in their order. The mean is Σ wᵢxᵢ ÷ Σ wᵢ.
///   uniform        1 each
///   weights=W,…    as given: one per checkpoint, finite, with sum 1 (to 1e-6)
///   ema=D          D^(n−1−i) for i = 0 … n−1, so that the last and newest counts 1; 0 < D ≤ 1
/// Errors: usage, naming the value.
std::vector<double> average_weights(const std::string& average, std::size_t num_checkpoints);

}  // namespace dt::merge_tool
