#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include "base/cli/tool.hpp"
#include "base/system/signals.hpp"
#include "cmd/dt-train/options.hpp"
#ifdef DT_CUDA
#include "kernels/cuda/register_gpus.hpp"
#endif
#ifdef DT_NCCL
#include "comm/nccl/library.hpp"
#endif

namespace {

/// Makes OpenMP threads spin only briefly while they wait. By default they spin for milliseconds,
/// which costs as much at each kernel if another process wants their core. A short spin is as fast
/// on an idle machine. The library reads this setting when it is loaded, so the program starts
/// itself again with the setting in its environment.
void limit_openmp_spinning(char** argv) {
  if (::getenv("OMP_WAIT_POLICY") || ::getenv("GOMP_SPINCOUNT")) return;
  ::setenv("GOMP_SPINCOUNT", "1000", 1);
  // The program's own path keeps its name in ps and pgrep. It is used only if it is this program,
  // not a loader or emulator that runs it.
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && self.filename() == std::filesystem::path(argv[0]).filename())
    ::execv(self.c_str(), argv);  // on failure threads keep spinning
}

}  // namespace

int main(int argc, char** argv) {
  dt::block_stop_signals();
  limit_openmp_spinning(argv);
#ifdef DT_CUDA
  dt::kernels::cuda::register_gpus();
#endif
#ifdef DT_NCCL
  dt::comm::nccl::register_nccl();
#endif
  dt::plan::Settings settings;
  dt::OptionTable options = dt::train_tool::make_options(settings);
  return dt::run_tool(argc, argv, options,
                      [&](dt::Console& console) { return dt::train_tool::run(settings, options, console); });
}
