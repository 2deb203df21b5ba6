#pragma once
// The header of a checkpoint's manifest: what it says of the run before its files are known.

#include "plan/plan.hpp"
#include "run/run_directory.hpp"

namespace dt::train {

/// For `gpu_products`, see describe_conditions().
checkpoint::Manifest checkpoint_header(const plan::Plan& plan, const checkpoint::TrainingState& state,
                                       const run::Generation& generation,
                                       const std::vector<std::string>& gpu_products);

}  // namespace dt::train
