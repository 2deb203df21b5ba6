#pragma once
// Where the memory lies that operations are measured on.

#include <optional>
#include <string>
#include <vector>

#include "comm/ranks.hpp"
#include "tensor/context.hpp"

namespace dt::allreduce_bench {

/// While it lives, this rank's operations take memory of that device.
class RankDevice {
 public:
  /// Called by all ranks together, which ask the same: cpu, or cuda, each rank a GPU of its node. Rank 0
  /// warns where ranks share one. GPUs talk through NCCL as comm::choose_streams says; others are waited for
  /// so long. Errors: environment, why a rank has none; those of choose_streams.
  RankDevice(const std::string& asked, const comm::Ranks& ranks, double patience_s);

  const Context& context() const { return *context_; }
  /// The names of all ranks' GPUs, by rank; none on CPUs.
  const std::vector<std::string>& gpu_by_rank() const { return gpu_by_rank_; }

 private:
  std::vector<std::string> gpu_by_rank_;
  std::optional<Context> context_;
  std::optional<comm::ComputesOn> computes_on_;
};

}  // namespace dt::allreduce_bench
