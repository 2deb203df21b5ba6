#include "base/tool.hpp"
#include "cmd/dt-train/options.hpp"
#include "cmd/dt-train/run.hpp"

int main(int argc, char** argv) {
  dt::train::Settings settings;
  dt::OptionTable options = dt::train_tool::make_options(settings);
  return dt::run_tool(argc, argv, options,
                      [&](dt::Console& console) { return dt::train_tool::run(settings, options, console); });
}
