#include "base/cli/tool.hpp"
#include "cmd/dt-shard-data/options.hpp"

int main(int argc, char** argv) {
  dt::OptionTable table("dt-shard-data", dt::shard_data::summary);
  dt::shard_data::Options options;
  dt::shard_data::declare(table, options);
  return dt::run_tool(argc, argv, table,
                      [&](dt::Console& console) { return dt::shard_data::run(options, console); });
}
