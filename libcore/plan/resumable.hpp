#pragma once
// Checks that a checkpoint belongs to the training that is asked for.

#include <cstdint>
#include <string>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece_index.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Refuses to continue from a checkpoint that belongs to another optimizer, another model, other data
/// or another order of the data. It reads the manifest alone, nothing large.
/// Errors: input, naming the first difference. If tensors differ, it is the first tensor that does,
/// with both shapes.
void check_resumable(const Plan& plan, const checkpoint::Manifest& manifest,
                     const checkpoint::PieceIndex& pieces, std::uint64_t dataset_digest);

/// Returns the first difference in words, "the model's hidden size was 64 and is now 128", or "" if
/// there is none.
std::string model_difference(const model::ModelSpec& then, const model::ModelSpec& now);

}  // namespace dt::plan
