// dt-allreduce-bench as it is, on the test device.

#include "base/tool.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"
#include "cmd/dt-allreduce-bench/run.hpp"
#include "device/test_device.hpp"

int main(int argc, char** argv) {
  using namespace dt::allreduce_bench;
  const dt::test_device::Use device(1);
  Options options;
  dt::OptionTable table("dt-allreduce-bench", "on the test device.");
  declare(table, options);
  return dt::run_tool(argc, argv, table, [&](dt::Console& console) {
    return run({options, table.values(), {argv, argv + argc}}, console);
  });
}
