#pragma once
// What a checkpoint's manifest says of the run, before its files are known.

#include "run/run_directory.hpp"
#include "train/plan.hpp"

namespace dt::train {

checkpoint::Manifest checkpoint_header(const Plan& plan, const checkpoint::TrainingState& state,
                                       const run::Generation& generation);

}  // namespace dt::train
