#pragma once

#include "base/cli/console.hpp"
#include "base/cli/options.hpp"
#include "plan/settings.hpp"

namespace dt::train_tool {

/// Returns dt-train's option table. `settings` must outlive it.
OptionTable make_options(plan::Settings& settings);

/// Adds other trainers' names for the options to the table.
void add_foreign_option_names(OptionTable& table);

/// Runs what the options request. `settings` are those that `options` fill. If a resume omits
/// options, first supplies them from its run.
int run(const plan::Settings& settings, OptionTable& options, Console& console);

}  // namespace dt::train_tool
