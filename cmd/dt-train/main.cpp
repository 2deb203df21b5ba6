#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include "base/signals.hpp"
#include "base/tool.hpp"
#include "cmd/dt-train/options.hpp"
#include "cmd/dt-train/run.hpp"
#ifdef DT_CUDA
#include "kernels/cuda/use.hpp"
#endif
#ifdef DT_NCCL
#include "comm/nccl/use.hpp"
#endif

namespace {

/// By default OpenMP threads spin for milliseconds while they wait, which costs as much at each kernel where
/// another process wants their core. A short spin is as fast alone and bears company. The library reads how
/// to wait when it is loaded, so the program starts over with the wish in its environment.
void spin_shortly(char** argv) {
  if (::getenv("OMP_WAIT_POLICY") || ::getenv("GOMP_SPINCOUNT")) return;
  ::setenv("GOMP_SPINCOUNT", "1000", 1);
  // By its own path, so that ps and pgrep go on to show its name; and only where that is this program, and no
  // loader or emulator that runs it.
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && self.filename() == std::filesystem::path(argv[0]).filename())
    ::execv(self.c_str(), argv);  // where that fails, threads spin
}

}  // namespace

int main(int argc, char** argv) {
  dt::hold_stop_signals();
  spin_shortly(argv);
#ifdef DT_CUDA
  dt::kernels::cuda::use_gpus();
#endif
#ifdef DT_NCCL
  dt::comm::nccl::use_nccl();
#endif
  dt::plan::Settings settings;
  dt::OptionTable options = dt::train_tool::make_options(settings);
  return dt::run_tool(argc, argv, options,
                      [&](dt::Console& console) { return dt::train_tool::run(settings, options, console); });
}
