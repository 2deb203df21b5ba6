#pragma once
// dt-train's work: from settings to a trained model.

#include <vector>

#include "base/console.hpp"
#include "base/options.hpp"
#include "train/settings.hpp"

namespace dt::train {

/// Starts or goes on with a run and trains it to its end or to a request to stop. `asked` are the options as
/// text, for run.json. Returns the exit code.
int run_training(const Settings& settings, const std::vector<OptionValue>& asked, Console& console);

}  // namespace dt::train
