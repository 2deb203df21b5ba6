#include "train/data_parallel.hpp"

#include "base/error.hpp"

namespace dt::train {

DataParallel divide_ranks(const Plan& plan, comm::Communicator& world) {
  world.set_bucket_bytes(plan.comm_bucket_bytes);
  DataParallel groups;
  groups.sharding.stage = plan.zero;
  if (plan.zero == 0) {
    groups.sharding.replicas = &world;
  } else if (plan.zero_group == world.size()) {
    groups.sharding.shards = &world;
  } else {
    DT_CHECK(world.size() % plan.zero_group == 0, "{} ranks in groups of {}", world.size(), plan.zero_group);
    const int rank = world.rank();
    groups.shards = world.split(rank / plan.zero_group, rank, "shards");
    groups.replicas = world.split(rank % plan.zero_group, rank, "replicas");
    groups.sharding.shards = groups.shards.get();
    groups.sharding.replicas = groups.replicas.get();
  }
  return groups;
}

}  // namespace dt::train
