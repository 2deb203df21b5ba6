#pragma once

#include "base/cli/options.hpp"
#include "plan/settings.hpp"

namespace dt::train_tool {

/// Returns dt-train's option table. `settings` must outlive it.
OptionTable make_options(plan::Settings& settings);

/// Adds other trainers' names for the options to the table.
void add_foreign_option_names(OptionTable& table);

}  // namespace dt::train_tool
