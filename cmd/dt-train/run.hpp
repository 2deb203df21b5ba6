#pragma once

#include "base/cli/console.hpp"
#include "base/cli/options.hpp"
#include "plan/settings.hpp"

namespace dt::train_tool {

/// Runs what the options request. `settings` are those that `options` fill. If a resume omits
/// options, first supplies them from its run.
int run(const plan::Settings& settings, OptionTable& options, Console& console);

}  // namespace dt::train_tool
