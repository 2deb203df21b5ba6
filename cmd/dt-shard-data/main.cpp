#include "base/cli/tool.hpp"
#include "cmd/dt-shard-data/options.hpp"

int main(int argc, char** argv) {
  dt::OptionTable table("dt-shard-data", "convert text or token ids to token shards for dt-train");
  dt::shard_data::Options options;
  dt::shard_data::declare(table, options);
  return dt::run_tool(argc, argv, table,
                      [&](dt::Console& console) { return dt::shard_data::run(options, console); });
}
