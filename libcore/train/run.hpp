#pragma once
// dt-train's training run, from settings to a trained model.

#include <vector>

#include "base/cli/options.hpp"
#include "base/system/signals.hpp"
#include "comm/ranks.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Starts or resumes a run and trains it until its end or until a request to stop. `asked` are the
/// options as text, for run.json. Returns the exit code.
/// Collective: all ranks.
int run_training(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                 const StopSignals& signals, const comm::Ranks& ranks);

}  // namespace dt::train
