#include "cmd/dt-allreduce-bench/rank_device.hpp"

#include "comm/exchange.hpp"
#include "comm/gpus.hpp"
#include "comm/streams/choose.hpp"
#include "comm/streams/library.hpp"

namespace dt::allreduce_bench {

RankDevice::RankDevice(const std::string& asked, const comm::Ranks& ranks, double patience_s) {
  const std::vector<comm::SeenGpus> seen = comm::see_gpus(ranks.world, asked == "cuda");
  comm::DeviceChoice choice;
  comm::together(ranks.world, [&] {
    choice = comm::choose_devices(asked, seen);
    context_.emplace(1, choice.of_rank[static_cast<std::size_t>(ranks.world.rank())]);
    computes_on_.emplace(ranks.world.engine(), *context_);
  });
  for (const std::string& warning : choice.warnings) ranks.console.warn("{}", warning);
  if (asked != "cuda") return;
  const comm::StreamChoice streams = comm::choose_streams(ranks, choice, seen, ranks.world.size());
  if (!streams.library.empty())
    ranks.world.set_streams(comm::stream_library()->open(ranks.world, context_->device(), patience_s));
  for (std::size_t rank = 0; rank < seen.size(); ++rank)
    gpu_by_rank_.push_back(seen[rank].gpus[static_cast<std::size_t>(choice.of_rank[rank].index())].name);
}

}  // namespace dt::allreduce_bench
