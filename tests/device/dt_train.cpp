// Runs the real dt-train on the test device. DT_TEST_DEVICE_SEED sets the order in which the device works.
// DT_TEST_DEVICE_COUNTS names a file for the counts of what the host asked of the device. Ranks that were
// started together write a file each, with .RANK after the name, except for the first rank's.
// DT_TEST_DEVICE_ERROR and DT_TEST_DEVICE_HANG say which kernel fails or never ends. DT_TEST_NCCL_ERROR and
// DT_TEST_NCCL_HANG do so for operations of NCCL, which is simulated, too. DT_TEST_DEVICE_GPUS sets how
// many GPUs there are. DT_TEST_DEVICE_LOADING=libraries|all says whose kernels are loaded with their first
// launch; loading waits for all work that the device was given. DT_TEST_DEVICE_RANGES names a file for the
// names of the host's ranges, as a profiler would receive them.

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/cli/tool.hpp"
#include "base/system/host.hpp"
#include "base/system/signals.hpp"
#include "cmd/dt-train/options.hpp"
#include "device/test_device.hpp"
#ifdef DT_NCCL
#include "comm/nccl/library.hpp"
#include "device/nccl/stand_in.hpp"
#endif

namespace {

void break_as_asked(dt::test_device::Use& device) {
  using Fault = dt::test_device::Use::Fault;
  if (const char* const kernel = std::getenv("DT_TEST_DEVICE_ERROR"))
    device.break_at(std::stoll(kernel), Fault::error);
  if (const char* const kernel = std::getenv("DT_TEST_DEVICE_HANG"))
    device.break_at(std::stoll(kernel), Fault::hang);
  using Loading = dt::test_device::Use::Loading;
  if (const char* const whose = std::getenv("DT_TEST_DEVICE_LOADING"))
    device.load(whose == std::string("all") ? Loading::of_all : Loading::of_libraries);
}

#ifdef DT_NCCL
void play_nccl() {
  using dt::test_device::NcclFault;
  if (const char* const operation = std::getenv("DT_TEST_NCCL_ERROR"))
    dt::test_device::break_nccl_at(std::stol(operation), NcclFault::error);
  if (const char* const operation = std::getenv("DT_TEST_NCCL_HANG"))
    dt::test_device::break_nccl_at(std::stol(operation), NcclFault::hang);
  dt::comm::nccl::set_functions(&dt::test_device::nccl_stand_in());
  dt::comm::nccl::register_nccl();
}
#endif

void tell_counts(const dt::test_device::Use::Counts& counts) {
  const char* const file = std::getenv("DT_TEST_DEVICE_COUNTS");
  if (file == nullptr) return;
  const int rank = dt::launcher_rank();
  std::ofstream(file + (rank > 0 ? "." + std::to_string(rank) : std::string()))
      << counts.reads << " reads, " << counts.allocations << " allocations, " << counts.most_bytes
      << " bytes at a time, " << counts.kernels << " kernels, " << counts.moves << " copies or zeros, "
      << counts.graphs << " graphs launched " << counts.launches << " times with " << counts.in_graphs
      << " of these, " << counts.in_lists << " allocations in lists, " << counts.frees << " frees, "
      << counts.pinnings << " pinnings, " << counts.unpinnings << " unpinnings\n";
}

void tell_ranges(const dt::test_device::Use::Ranges& ranges) {
  const char* const file = std::getenv("DT_TEST_DEVICE_RANGES");
  if (file == nullptr) return;
  std::ofstream out(file);
  out << ranges.depth << " are open, at most " << ranges.most_depth << " in each other\n";
  for (const std::string& name : ranges.names) out << name << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const char* const seed = std::getenv("DT_TEST_DEVICE_SEED");
  dt::test_device::Use device(seed ? std::stoull(seed) : 1);
  break_as_asked(device);
  if (std::getenv("DT_TEST_DEVICE_RANGES") != nullptr) device.attach_profiler();
#ifdef DT_NCCL
  play_nccl();
#endif
  dt::block_stop_signals();
  dt::plan::Settings settings;
  dt::OptionTable options = dt::train_tool::make_options(settings);
  const int result = dt::run_tool(argc, argv, options, [&](dt::Console& console) {
    return dt::train_tool::run(settings, options, console);
  });
  tell_counts(device.counts());
  tell_ranges(device.ranges());
  return result;
}
