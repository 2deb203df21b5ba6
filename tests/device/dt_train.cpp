// dt-train as it is, on the test device: DT_TEST_DEVICE_SEED says in what order it works.

#include <cstdlib>
#include <string>

#include "base/signals.hpp"
#include "base/tool.hpp"
#include "cmd/dt-train/options.hpp"
#include "cmd/dt-train/run.hpp"
#include "device/test_device.hpp"

int main(int argc, char** argv) {
  const char* const seed = std::getenv("DT_TEST_DEVICE_SEED");
  const dt::test_device::Use device(seed ? std::stoull(seed) : 1);
  dt::hold_stop_signals();
  dt::plan::Settings settings;
  dt::OptionTable options = dt::train_tool::make_options(settings);
  return dt::run_tool(argc, argv, options,
                      [&](dt::Console& console) { return dt::train_tool::run(settings, options, console); });
}
