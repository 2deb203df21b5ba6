#include "comm/topology/nccl_decision.hpp"

#include <map>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/exchange.hpp"

namespace dt::comm {

namespace {

/// A rank's report of its library: its version, or why there is none.
struct Seen {
  std::string version{}, why_none{};
  bool takes_shared_gpus = false;
};

Seen look_for_library() {
  DeviceTransportLibrary* const library = device_transport_library();
  if (library == nullptr) return {.why_none = "dt was built without NCCL"};
  try {
    return {.version = library->version(), .takes_shared_gpus = library->takes_shared_gpus()};
  } catch (const Error& error) {
    return {.why_none = error.message()};
  }
}

std::size_t index(int rank) {
  return static_cast<std::size_t>(rank);
}

/// Names the first two ranks that are on one GPU; empty if there are none. Parts of one GPU (MIG) are
/// one GPU to NCCL.
std::string sharers(const DeviceChoice& choice, const std::vector<HostGpus>& seen) {
  std::map<std::pair<std::string, std::string>, std::size_t>
      first;  // rank on the GPU of that host and address
  for (std::size_t rank = 0; rank < choice.of_rank.size(); ++rank) {
    const std::string& address =
        seen[rank].gpus[static_cast<std::size_t>(choice.of_rank[rank].index())].address;
    const auto [place, is_new] = first.emplace(std::pair(seen[rank].host, address), rank);
    if (!is_new)
      return fmt::format("ranks {} and {} on {} share the GPU {}", place->second, rank, seen[rank].host,
                         address);
  }
  return {};
}

/// Throws if ranks have different versions, and so are incompatible.
/// Errors: environment.
void check_versions(const std::vector<std::string>& versions, const std::vector<HostGpus>& seen,
                    int num_ranks) {
  for (int rank = 1; rank < num_ranks; ++rank) {
    if (versions[index(rank)] == versions[0] || versions[index(rank)].empty() || versions[0].empty())
      continue;
    throw Error(ErrorKind::environment,
                fmt::format("rank 0 on {} has {}, and rank {} on {} has {}", seen[0].host, versions[0], rank,
                            seen[index(rank)].host, versions[index(rank)]),
                "add the folder of one version to LD_LIBRARY_PATH on all nodes, or use --comm mpi");
  }
}

/// Returns why the first `num_ranks` ranks cannot use the library; empty: they can.
std::string obstacle(const std::vector<std::string>& reasons, const std::vector<HostGpus>& seen,
                     int num_ranks) {
  for (int rank = 0; rank < num_ranks; ++rank) {
    if (!reasons[index(rank)].empty())
      return fmt::format("rank {} on {}: {}", rank, seen[index(rank)].host, reasons[index(rank)]);
  }
  return {};
}

}  // namespace

NcclDecision decide_nccl(const Ranks& ranks, const DeviceChoice& choice, const std::vector<HostGpus>& seen,
                         int num_ranks) {
  const bool is_on_gpus = !choice.gpu_of_rank.empty(), is_asked = ranks.nccl == NcclPolicy::required;
  run_collectively(ranks.world, [&] {
    if (is_asked && !is_on_gpus)
      throw Error(ErrorKind::usage, "--comm nccl needs ranks on GPUs, but these compute on CPUs",
                  "use --device cuda, or --comm mpi");
  });
  if (!is_on_gpus || ranks.nccl == NcclPolicy::never || (num_ranks == 1 && !is_asked)) return {};
  const Seen mine = look_for_library();
  const std::vector<std::string> versions = gather_texts(ranks.world, mine.version),
                                 reasons = gather_texts(ranks.world, mine.why_none);
  // All ranks must decide by the same value.
  const bool takes_shared_gpus = broadcast_number(ranks.world, mine.takes_shared_gpus ? 1 : 0) != 0;
  std::string why_not;
  std::string sharing;
  run_collectively(ranks.world, [&] {
    check_versions(versions, seen, num_ranks);
    why_not = obstacle(reasons, seen, num_ranks);
    if (is_asked && !why_not.empty()) throw Error(ErrorKind::environment, "--comm nccl: " + why_not);
    if (why_not.empty() && !takes_shared_gpus) sharing = sharers(choice, seen);
    if (!sharing.empty() && is_asked)
      throw Error(ErrorKind::environment,
                  fmt::format("--comm nccl: {}, but {} supports one rank per GPU", sharing, versions[0]),
                  "start one rank per GPU; or use --comm mpi, which goes through host memory; or use NCCL "
                  "2.30 or newer with NCCL_MULTI_RANK_GPU_ENABLE=1");
  });
  return {why_not.empty() && sharing.empty() ? versions[0] : "", why_not};
}

}  // namespace dt::comm
