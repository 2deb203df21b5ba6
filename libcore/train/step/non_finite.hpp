#pragma once
// A loss or gradients that are not finite: where they first appeared.

#include <cstdint>
#include <span>
#include <string>

#include "plan/plan.hpp"
#include "train/step/decision.hpp"
#include "train/step/model_runtime.hpp"

namespace dt::train {

/// Returns the place of the first non-finite value in words: "the output of layers.1 on rank 2,
/// samples 8 to 11". Repeats the forwards and checks each unit's output in the order of
/// micro-batches. If all outputs are finite, it checks the gradients, of the last unit first. Call
/// it after a step whose loss or gradients are not finite, before weights change. `micro_batches`
/// are this rank's of the step, which begins with sample `first_sample`. `control` has all ranks.
/// Collective: all ranks.
std::string locate_first_non_finite(const plan::Plan& plan, ModelRuntime& runtime,
                                    std::span<const model::MicroBatch> micro_batches,
                                    std::uint64_t first_sample, comm::Communicator& control);

/// Returns "step 5: loss inf and gradient norm nan are not both finite (first in …)". The
/// loss includes auxiliary losses if they are why. The parenthesis is absent if `first` is "": finite
/// gradients may also have squares that are not finite.
std::string describe_non_finite(std::int64_t step, const Decision& decision, const std::string& first);

}  // namespace dt::train
