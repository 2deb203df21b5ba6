#pragma once

#include "base/console.hpp"
#include "base/options.hpp"
#include "plan/settings.hpp"

namespace dt::train_tool {

/// Runs what the options ask for; `settings` are those that they fill. Options that a resume leaves out are
/// supplied from its run first.
int run(const plan::Settings& settings, OptionTable& options, Console& console);

}  // namespace dt::train_tool
