#pragma once
// The groups of data-parallel ranks that a plan divides state among.

#include <memory>

#include "comm/communicator.hpp"
#include "parallel/sharding.hpp"
#include "train/plan.hpp"

namespace dt::train {

struct DataParallel {
  std::unique_ptr<comm::Communicator> shards;    // of their own, where not all ranks divide the state
  std::unique_ptr<comm::Communicator> replicas;  // likewise
  parallel::Sharding sharding;
};

/// Called by all ranks together. `world`, the ranks of the plan, must outlive the result.
DataParallel divide_ranks(const Plan& plan, comm::Communicator& world);

}  // namespace dt::train
