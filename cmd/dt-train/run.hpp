#pragma once

#include "base/console.hpp"
#include "base/options.hpp"
#include "plan/settings.hpp"

namespace dt::train_tool {

int run(const plan::Settings& settings, const OptionTable& options, Console& console);

}  // namespace dt::train_tool
