#include "cmd/dt-allreduce-bench/rank_device.hpp"

#include <algorithm>

#include "base/cli/build_info.hpp"
#include "base/system/host.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/exchange.hpp"
#include "comm/topology/gpus.hpp"
#include "comm/topology/nccl_decision.hpp"

namespace dt::allreduce_bench {

namespace {

int cores_per_rank(comm::Communicator& world) {
  std::string own = host_name();
  for (const int core : available_core_numbers()) own += " " + std::to_string(core);
  const std::vector<std::string> all = comm::gather_texts(world, own);
  return std::max(1, available_cores() / static_cast<int>(std::ranges::count(all, own)));
}

bench::DevicePlace place_of(const comm::HostGpus& seen, Device device, const std::string& instructions) {
  bench::DevicePlace place{.host = seen.host, .device = device.to_string(), .name = instructions};
  if (device == Device::host()) return place;
  const Gpu& gpu = seen.gpus[static_cast<std::size_t>(device.index())];
  place.name = gpu.name;
  place.address = gpu.address;
  return place;
}

}  // namespace

RankDevice::RankDevice(comm::DeviceRequest asked, const comm::Ranks& ranks, double timeout_s) {
  const std::vector<comm::HostGpus> seen = comm::gather_gpus(ranks.world, asked == comm::DeviceRequest::cuda);
  comm::DeviceChoice choice;
  comm::run_collectively(ranks.world, [&] {
    choice = comm::choose_devices(asked, seen);
    context_.emplace(1, choice.of_rank[static_cast<std::size_t>(ranks.world.rank())]);
    computes_on_.emplace(ranks.world.engine(), *context_);
  });
  for (const std::string& warning : choice.warnings) ranks.console.warn("{}", warning);
  cores_ = cores_per_rank(ranks.world);
  const std::vector<std::string> instructions = comm::gather_texts(ranks.world, instruction_set());
  for (std::size_t rank = 0; rank < seen.size(); ++rank)
    places_.push_back(place_of(seen[rank], choice.of_rank[rank], instructions[rank]));
  if (asked != comm::DeviceRequest::cuda) return;
  const comm::NcclDecision streams = comm::decide_nccl(ranks, choice, seen, ranks.world.size());
  if (!streams.library.empty())
    ranks.world.set_device_transport(
        comm::device_transport_library()->open(ranks.world, context_->device(), timeout_s));
}

}  // namespace dt::allreduce_bench
