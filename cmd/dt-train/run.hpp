#pragma once

#include "base/console.hpp"
#include "base/options.hpp"
#include "train/settings.hpp"

namespace dt::train_tool {

int run(const train::Settings& settings, const OptionTable& options, Console& console);

}  // namespace dt::train_tool
