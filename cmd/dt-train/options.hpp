#pragma once

#include "base/options.hpp"
#include "plan/settings.hpp"

namespace dt::train_tool {

/// dt-train's option table; `settings` must outlive it.
OptionTable make_options(plan::Settings& settings);

}  // namespace dt::train_tool
