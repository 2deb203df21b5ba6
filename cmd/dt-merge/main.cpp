#include "base/cli/tool.hpp"
#include "cmd/dt-merge/options.hpp"

int main(int argc, char** argv) {
  dt::merge_tool::Options options;
  dt::OptionTable table = dt::merge_tool::make_options(options);
  return dt::run_tool(argc, argv, table,
                      [&](dt::Console& console) { return dt::merge_tool::run(options, console); });
}
