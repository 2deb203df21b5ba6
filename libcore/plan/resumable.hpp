#pragma once
// Whether a checkpoint is one of the training that is asked for.

#include <cstdint>
#include <string>

#include "checkpoint/manifest.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Refuses to go on from a checkpoint that belongs to another model, other data or another order of the data,
/// by its manifest alone: nothing large is read. Error{input} naming the first difference; where tensors
/// differ, the first that does, with both shapes.
void check_resumable(const Plan& plan, const checkpoint::Manifest& manifest, std::uint64_t dataset_digest);

/// The first difference in words, "the model's hidden size was 64 and is now 128"; "" where both are the
/// same.
std::string model_difference(const model::ModelSpec& then, const model::ModelSpec& now);

}  // namespace dt::plan
