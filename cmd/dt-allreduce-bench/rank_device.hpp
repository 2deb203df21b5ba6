#pragma once
// Where a rank's memory lies that operations are measured on, and what it computes on.

#include <optional>
#include <string>
#include <vector>

#include "bench/devices.hpp"
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
  /// Of all ranks, by rank.
  const std::vector<bench::Place>& places() const { return places_; }
  /// This rank's: those that it may use, divided by the ranks of its host that may use the same.
  int cores() const { return cores_; }

 private:
  std::vector<bench::Place> places_;
  int cores_ = 1;
  std::optional<Context> context_;
  std::optional<comm::ComputesOn> computes_on_;
};

}  // namespace dt::allreduce_bench
