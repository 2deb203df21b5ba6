#include "base/cli/tool.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"
#ifdef DT_CUDA
#include "kernels/cuda/register_gpus.hpp"
#endif
#ifdef DT_NCCL
#include "comm/nccl/library.hpp"
#endif

int main(int argc, char** argv) {
  using namespace dt::allreduce_bench;
#ifdef DT_CUDA
  dt::kernels::cuda::register_gpus();
#endif
#ifdef DT_NCCL
  dt::comm::nccl::register_nccl();
#endif
  Options options;
  dt::OptionTable table = make_options(options);
  return dt::run_tool(argc, argv, table, [&](dt::Console& console) {
    return run({options, table.values(), {argv, argv + argc}}, console);
  });
}
