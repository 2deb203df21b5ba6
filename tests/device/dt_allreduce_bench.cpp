// Runs the real dt-allreduce-bench on the test device. DT_TEST_DEVICE_SLOW adds this many seconds to each
// kernel and copy. DT_TEST_DEVICE_GPUS sets how many GPUs there are.

#include <cstdlib>
#include <string>

#include "base/cli/tool.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"
#include "device/test_device.hpp"
#ifdef DT_NCCL
#include "comm/nccl/library.hpp"
#include "device/nccl/stand_in.hpp"
#endif

int main(int argc, char** argv) {
  using namespace dt::allreduce_bench;
  dt::test_device::Use device(1);
  if (const char* const seconds = std::getenv("DT_TEST_DEVICE_SLOW")) device.slow_down(std::stod(seconds));
  dt::accelerator().set_timeout(60);
#ifdef DT_NCCL
  dt::comm::nccl::set_functions(&dt::test_device::nccl_stand_in());
  dt::comm::nccl::register_nccl();
#endif
  Options options;
  dt::OptionTable table = make_options(options);
  return dt::run_tool(argc, argv, table, [&](dt::Console& console) {
    return run({options, table.values(), {argv, argv + argc}}, console);
  });
}
