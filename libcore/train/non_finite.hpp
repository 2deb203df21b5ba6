#pragma once
// Where in the model a value that is not finite came up first.

#include <functional>
#include <span>
#include <string>

#include "plan/lists.hpp"
#include "train/decision.hpp"
#include "train/model_runtime.hpp"

namespace dt::train {

/// Called by all ranks together after a step whose loss or gradients are not finite, before weights change:
/// makes the forwards again and looks at what each unit puts out, in the order of micro-batches; where all
/// that is finite, at the gradients, of the last unit first. In words: "the output of layers.1 on rank 2,
/// samples 8 to 11". `micro_batches` are this rank's of the step, which begins with sample `first_sample`;
/// `control` is everyone.
std::string first_not_finite(const plan::Plan& plan, ModelRuntime& runtime,
                             std::span<const model::MicroBatch> micro_batches, std::uint64_t first_sample,
                             comm::Communicator& control);

/// "step 5: loss inf and gradient norm nan are not both finite (first in …)"; without the parenthesis where
/// `first` is "": finite gradients, too, may have squares that are not.
std::string describe_not_finite(std::int64_t step, const Decision& decision, const std::string& first);

}  // namespace dt::train
