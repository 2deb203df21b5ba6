#include "cmd/dt-allreduce-bench/rank_device.hpp"

#include "comm/exchange.hpp"
#include "comm/gpus.hpp"

namespace dt::allreduce_bench {

RankDevice::RankDevice(const std::string& asked, const comm::Ranks& ranks) {
  const std::vector<comm::SeenGpus> seen = comm::see_gpus(ranks.world, asked == "cuda");
  comm::DeviceChoice choice;
  comm::together(ranks.world, [&] {
    choice = comm::choose_devices(asked, seen);
    context_.emplace(1, choice.of_rank[static_cast<std::size_t>(ranks.world.rank())]);
    computes_on_.emplace(ranks.world.engine(), *context_);
  });
  for (const std::string& warning : choice.warnings) ranks.console.warn("{}", warning);
  for (std::size_t rank = 0; asked == "cuda" && rank < seen.size(); ++rank)
    gpu_by_rank_.push_back(seen[rank].gpus[static_cast<std::size_t>(choice.of_rank[rank].index())].name);
}

}  // namespace dt::allreduce_bench
