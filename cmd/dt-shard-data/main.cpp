#include "base/cli/tool.hpp"
#include "cmd/dt-shard-data/options.hpp"

int main(int argc, char** argv) {
  dt::shard_data::Options options;
  dt::OptionTable table = dt::shard_data::make_options(options);
  return dt::run_tool(argc, argv, table,
                      [&](dt::Console& console) { return dt::shard_data::run(options, console); });
}
