#pragma once
// The device on which a rank computes, and whose memory the benchmark measures.

#include <optional>
#include <string>
#include <vector>

#include "bench/devices.hpp"
#include "comm/ranks.hpp"
#include "comm/topology/gpus.hpp"
#include "tensor/context.hpp"

namespace dt::allreduce_bench {

/// The device of this rank. While the object lives, this rank's operations use its memory.
class RankDevice {
 public:
  /// Chooses devices. `asked` is cpu, or cuda, which gives each rank a GPU of its node. Rank 0
  /// warns if ranks share a GPU. GPUs communicate through NCCL as comm::decide_nccl() decides;
  /// `timeout_s` is the timeout for other ranks.
  /// Collective: called by all ranks together with the same `asked`; blocks.
  /// Errors: environment, with the reason, if a rank has no device; as decide_nccl().
  RankDevice(comm::DeviceRequest asked, const comm::Ranks& ranks, double timeout_s);

  const Context& context() const { return *context_; }
  /// Returns the places of all ranks, by rank.
  const std::vector<bench::DevicePlace>& places() const { return places_; }
  /// Returns this rank's number of cores: those that it may use, divided by the number of ranks of
  /// its host that may use the same cores.
  int cores() const { return cores_; }

 private:
  std::vector<bench::DevicePlace> places_;
  int cores_ = 1;
  std::optional<Context> context_;
  std::optional<comm::ScopedDevice> computes_on_;
};

}  // namespace dt::allreduce_bench
