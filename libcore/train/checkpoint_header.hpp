#pragma once
// What a checkpoint's manifest says of the run, before its files are known.

#include "checkpoint/run_directory.hpp"
#include "train/plan.hpp"

namespace dt::train {

checkpoint::Manifest checkpoint_header(const Plan& plan, const checkpoint::TrainingState& state,
                                       const checkpoint::Generation& generation);

}  // namespace dt::train
