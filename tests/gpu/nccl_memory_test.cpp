// Compares NCCL's memory, as the drop in the GPUs' free memory, with the estimate.

#include <iostream>

#include "base/text/text.hpp"
#include "device/comm/nccl/streams.hpp"
#include "plan/memory/nccl_groups.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

/// Returns a communicator of as many ranks as there are GPUs; it exchanges and gathers.
plan::NcclGroup group_of(int ranks) {
  return {.ranks = ranks,
          .local_ranks = ranks,
          .local_sends = ranks - 1,
          .local_receives = ranks - 1,
          .gathers = true};
}

}  // namespace

TEST_CASE("a communicator takes the memory that was estimated, within a tenth", "[.nccl-memory]") {
  const auto gpus = static_cast<int>(accelerator().gpus().size());
  if (gpus < 2) {
    std::cout << "SKIP: ranks on GPUs of their own take two, and there is " << gpus << "\n";
    return;
  }
  const Gpu gpu = accelerator().gpus().front();
  run_on_streams(1, gpus, ReduceOrder::tree, [&](Communicator& world, Computing& computing) {
    constexpr std::size_t bucket_bytes = std::size_t{1} << 20, numel = std::size_t{1} << 18;
    world.set_bucket_bytes(bucket_bytes);
    const Device device = computing.context.device();
    const HostValues values(DType::f32, numel, world.rank());
    const Tensor data = computing.placed(values.in);
    world.all_reduce(data, data).wait(computing.context);  // takes the rest of a first operation's memory
    computing.context.synchronize();
    world.barrier().wait_host();
    const std::size_t before = accelerator().free_bytes(device);
    const std::unique_ptr<Communicator> group = world.split(0, world.rank(), "measured");
    group->all_reduce(data, data).wait(computing.context);
    const auto part = static_cast<std::int64_t>(numel) / group->size();
    group->all_gather(data.flat(group->rank() * part, part), data.flat(0, part * group->size()))
        .wait(computing.context);
    computing.context.synchronize();
    group->barrier().wait_host();
    const std::size_t staging = Communicator::stream_staging_bytes(bucket_bytes);
    const std::size_t taken = before - accelerator().free_bytes(device) - staging;
    const plan::NcclTopology topology = plan::nccl_topology(gpu, device_transport_library()->version());
    const plan::NcclSettings settings =
        plan::nccl_settings([](const char* name) -> const char* { return std::getenv(name); });
    const std::size_t estimate = plan::nccl_memory(group_of(group->size()), topology, settings).device;
    const double ratio = static_cast<double>(estimate) / static_cast<double>(taken);
    if (group->rank() == 0)
      std::cout << fmt::format("NCCL took {}, {} were estimated ({:.3f} of it)\n", format_bytes(taken),
                               format_bytes(estimate), ratio);
    require(ratio >= 0.9 && ratio <= 1.1, "the estimate is more than a tenth off");
    computing.forget();
  });
}
