#include "train/data_parallel.hpp"

namespace dt::train {

DataParallel divide_ranks(const Plan& plan, comm::Communicator& world) {
  DataParallel groups;
  groups.sharding.stage = plan.zero;
  if (plan.zero == 0) {
    groups.sharding.replicas = &world;
  } else if (plan.zero_group == world.size()) {
    groups.sharding.shards = &world;
  } else {
    const int rank = world.rank();
    groups.shards = world.split(rank / plan.zero_group, rank, "shards");
    groups.replicas = world.split(rank % plan.zero_group, rank, "replicas");
    groups.sharding.shards = groups.shards.get();
    groups.sharding.replicas = groups.replicas.get();
  }
  return groups;
}

}  // namespace dt::train
