// Measures what dt-allreduce-bench --backend nccl adds to the calls that it measures: see
// bench/overhead.hpp. Ranks are threads, on GPUs of this process.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "base/system/host.hpp"
#include "bench/measure.hpp"
#include "bench/overhead.hpp"
#include "comm/exchange.hpp"
#include "comm/nccl/functions.cuh"
#include "device/comm/nccl/streams.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::bench;
using dt::comm::nccl::functions;

namespace {

/// The smallest program that measures NCCL's operations.
class PlainLoop {
 public:
  PlainLoop(comm::Communicator& group, Device device) : group_(group), stream_(device) {
    ncclUniqueId id{};
    if (group.rank() == 0) functions().ncclGetUniqueId(&id);
    const std::string text = comm::broadcast_text(group, std::string(id.internal, sizeof id.internal));
    std::memcpy(id.internal, text.data(), sizeof id.internal);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    accelerator().select(device);
    functions().ncclCommInitRankConfig(&comm_, group.size(), id, group.rank(), &config);
    for (ncclResult_t state = ncclInProgress; state == ncclInProgress;)
      functions().ncclCommGetAsyncError(comm_, &state);
  }
  ~PlainLoop() { functions().ncclCommDestroy(comm_); }
  PlainLoop(const PlainLoop&) = delete;

  /// Returns the slowest rank's time.
  double us(Operation operation, const Workspace::Views& views, std::int64_t iterations) {
    for (int i = 0; i < 5; ++i) call(operation, views);
    accelerator().synchronize(stream_);
    group_.barrier().wait_host();
    const double start_s = monotonic_s();
    for (std::int64_t i = 0; i < iterations; ++i) call(operation, views);
    accelerator().synchronize(stream_);
    double slowest = 1e6 * (monotonic_s() - start_s) / static_cast<double>(iterations);
    const Tensor slowest_1 = host_tensor(slowest);
    group_.all_reduce(slowest_1, slowest_1, Reduction::max).wait_host();
    return slowest;
  }

 private:
  void call(Operation operation, const Workspace::Views& views) {
    const auto stream = reinterpret_cast<cudaStream_t>(static_cast<Stream>(stream_));
    void *in = views.in.raw(), *out = views.out.raw();
    const auto sent = static_cast<std::size_t>(views.in.numel()),
               got = static_cast<std::size_t>(views.out.numel());
    switch (operation) {
      case Operation::all_gather:
        functions().ncclAllGather(in, out, sent, ncclFloat, comm_, stream);
        break;
      case Operation::reduce_scatter:
        functions().ncclReduceScatter(in, out, got, ncclFloat, ncclSum, comm_, stream);
        break;
      default:
        functions().ncclAllReduce(in, out, sent, ncclFloat, ncclSum, comm_, stream);
    }
  }

  comm::Communicator& group_;
  ScopedStream stream_;
  ncclComm_t comm_ = nullptr;
};

void compare_on(comm::Communicator& group, const Context& context, const overhead::Extent& extent) {
  DtBackend backend(group, "nccl");
  PlainLoop loop(group, context.device());
  Workspace workspace(context, extent.max_bytes);
  for (const Operation operation :
       {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter}) {
    overhead::compare(
        operation, group.rank(), group.size(), extent,
        [&](const Problem& problem, std::int64_t iterations) {
          return loop.us(operation, workspace.views(problem, false, group.rank(), 0), iterations);
        },
        [&](const Problem& problem, std::int64_t iterations) {
          const MeasureSettings settings{.iterations = iterations, .warmup = 5, .checks = 0};
          return 1e6 * measure(group, backend, problem, false, workspace, settings).slowest_s;
        });
  }
}

std::vector<int> group_sizes() {
  const test_device::Use device(1);
  return test_device::nccl_group_sizes();
}

}  // namespace

TEST_CASE("what measuring adds to NCCL's calls", "[.nccl-overhead][devices]") {
  for (const int size : group_sizes()) {
    if (size == 1) continue;  // there is nothing to exchange
    std::printf("%d ranks\n", size);
    comm::test::run_on_streams(1, size, comm::ReduceOrder::free, [](auto& group, auto& computing) {
      compare_on(group, computing.context, {.max_bytes = 64 << 20});
    });
  }
}

TEST_CASE("what goes through NCCL is measured many operations at a time, and right", "[devices][nccl]") {
  for (const int size : group_sizes()) {
    if (size > 3) continue;
    comm::test::run_on_streams(1, size, comm::ReduceOrder::free, [&](auto& group, auto& computing) {
      DtBackend backend(group, "nccl");
      Workspace workspace(computing.context, 1 << 12);
      for (const OperationTraits& traits : operations()) {
        const Problem problem{.operation = traits.kind, .num_ranks = size, .numel = 840};
        const MeasureSettings settings{.iterations = 10, .warmup = 1, .checks = 1};
        const Timing timing = measure(group, backend, problem, false, workspace, settings);
        comm::test::require(timing.slowest_s > 0 && timing.wrong.value_or(0) == 0,
                            fmt::format("{} is wrong", name_of(traits.kind)));
      }
    });
  }
}
