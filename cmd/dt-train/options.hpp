#pragma once

#include "base/options.hpp"
#include "train/settings.hpp"

namespace dt::train_tool {

/// dt-train's option table; `settings` must outlive it.
OptionTable make_options(train::Settings& settings);

}  // namespace dt::train_tool
