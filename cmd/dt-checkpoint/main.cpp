#include "base/cli/tool.hpp"
#include "cmd/dt-checkpoint/options.hpp"

int main(int argc, char** argv) {
  dt::checkpoint_tool::Options options;
  dt::OptionTable table = dt::checkpoint_tool::make_options(options);
  return dt::run_tool(argc, argv, table,
                      [&](dt::Console& console) { return dt::checkpoint_tool::run(options, console); });
}
