#pragma once
// dt-train's work: from settings to a trained model.

#include <vector>

#include "base/options.hpp"
#include "base/signals.hpp"
#include "comm/ranks.hpp"
#include "plan/settings.hpp"

namespace dt::train {

/// Called by all ranks together: starts or goes on with a run and trains it to its end or to a request to
/// stop. `asked` are the options as text, for run.json. Returns the exit code.
int run_training(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                 const StopSignals& signals, const comm::Ranks& ranks);

}  // namespace dt::train
