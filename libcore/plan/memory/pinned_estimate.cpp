#include "plan/memory/pinned_estimate.hpp"

#include <algorithm>
#include <map>

#include "comm/core/pinned_ring.hpp"
#include "parallel/schedule/channels.hpp"

namespace dt::plan {

namespace {

class PinnedRingUse {
 public:
  void add(std::size_t largest_operation) {
    bytes_ += comm::PinnedLimits().max_lane_bytes(largest_operation);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// Returns the bytes of a micro-batch's rows with all their features.
std::size_t rows_bytes(const Plan& plan) {
  return static_cast<std::size_t>(plan.micro_batch * plan.local_length() * plan.spec.hidden) *
         dtype_bytes(plan.precision.compute);
}

std::size_t largest_group(const parallel::LocalTable& local) {
  std::int64_t numel = 0;
  for (const parallel::LocalGroup& group : local.groups()) numel = std::max(numel, group.numel);
  return static_cast<std::size_t>(numel);
}

void add_data(const Plan& plan, const parallel::LocalTable& local, PinnedRingUse& lanes) {
  if (plan.layout.data_ranks() == 1) return;
  const std::size_t bytes = largest_group(local) *
                            std::max(dtype_bytes(plan.precision.wire()), dtype_bytes(plan.precision.compute));
  if (plan.layout.zero > 0) lanes.add(bytes);
  if (local.num_replicas() > 1) lanes.add(bytes);
}

/// Adds lanes for rows, and for sums of gradients of which tensor-parallel ranks have only parts.
void add_tensor(const Plan& plan, const parallel::LocalTable& local, PinnedRingUse& lanes) {
  if (plan.layout.tp == 1) return;
  std::map<parallel::TensorSum, std::size_t> largest;
  largest[parallel::TensorSum::all] = rows_bytes(plan);
  for (const parallel::LocalGroup& group : local.groups()) {
    for (const auto& [over, run] : group.tensor_sums) {
      const std::size_t bytes = static_cast<std::size_t>(run.count) * dtype_bytes(plan.precision.gradient);
      largest[over] = std::max(largest[over], bytes);
    }
  }
  for (const auto& [over, bytes] : largest) lanes.add(bytes);
}

/// Adds a lane each way, for keys and values of at most all heads.
void add_context(const Plan& plan, PinnedRingUse& lanes) {
  for (int way = 0; plan.layout.cp > 1 && way < 2; ++way) lanes.add(2 * rows_bytes(plan));
}

void add_channels(const Plan& plan, const parallel::LocalTable& local, const parallel::ActionList& list,
                  PinnedRingUse& lanes) {
  std::map<parallel::Channel, std::size_t> channels;
  for (const parallel::Action& action : list) {
    if (action.kind != parallel::ActionKind::send && action.kind != parallel::ActionKind::receive) continue;
    const bool is_rows =
        action.payload == parallel::Payload::activation || action.payload == parallel::Payload::gradient;
    channels[parallel::channel_of(action, plan.place.pp)] =
        is_rows ? rows_bytes(plan) : largest_group(local) * dtype_bytes(plan.precision.gradient);
  }
  for (const auto& [channel, bytes] : channels) lanes.add(bytes);
}

}  // namespace

std::size_t peak_pinned_bytes(const Plan& plan, const parallel::LocalTable& local,
                              const parallel::ActionList& list) {
  PinnedRingUse lanes;
  add_data(plan, local, lanes);
  add_tensor(plan, local, lanes);
  add_context(plan, lanes);
  add_channels(plan, local, list, lanes);
  return lanes.bytes();
}

}  // namespace dt::plan
