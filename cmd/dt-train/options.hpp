#pragma once

#include "base/options.hpp"
#include "plan/settings.hpp"

namespace dt::train_tool {

/// dt-train's option table; `settings` must outlive it.
OptionTable make_options(plan::Settings& settings);

/// Tells the table how other trainers call its options.
void add_other_names(OptionTable& table);

}  // namespace dt::train_tool
