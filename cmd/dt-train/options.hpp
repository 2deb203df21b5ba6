#pragma once
// The options of dt-train and what they run.

#include "base/cli/console.hpp"
#include "base/cli/manual.hpp"
#include "base/cli/options.hpp"
#include "plan/settings.hpp"

namespace dt::train_tool {

/// Returns dt-train's option table. `settings` must outlive it.
OptionTable make_options(plan::Settings& settings);

/// Adds other trainers' names for the options to the table.
void add_foreign_option_names(OptionTable& table);

/// Checks options against each other: what must be given, and what does not go together. The table
/// calls it.
/// Errors: usage.
void check_settings(const plan::Settings& settings);

/// Checks the precision options, and that --eval-only has one source of weights.
/// Errors: usage.
void check_precision_and_weights(const plan::Settings& settings, const OptionTable& options);

/// Runs what the options request. `settings` are those that `options` fill. If a resume omits
/// options, first supplies them from its run.
int run(const plan::Settings& settings, OptionTable& options, Console& console);

/// Returns the prose of the man page.
Manual manual();

}  // namespace dt::train_tool
