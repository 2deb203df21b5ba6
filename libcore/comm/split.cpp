// Makes groups of the ranks of a group.

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::comm {

/// Splits the transport. A rank that is alone in its subgroup gets no communicator of the library, and
/// takes part in the call like a rank without a color.
/// Collective: all ranks call it; blocks.
std::unique_ptr<DeviceTransport> Communicator::split_device_group(std::optional<int> color, int key,
                                                                  DeviceGroupUse use, std::size_t num_ranks) {
  if (!device_group_) return nullptr;
  const bool is_alone = color && num_ranks == 1;
  std::unique_ptr<DeviceTransport> subgroup = device_group_->split(is_alone ? std::nullopt : color, key, use);
  if (is_alone) return std::make_unique<SingleRankTransport>(device_group_->transport().device());
  return subgroup;
}

std::unique_ptr<Communicator> Communicator::split(std::optional<int> color, int key, std::string name,
                                                  DeviceGroupUse use) {
  const auto n = static_cast<std::size_t>(size_);
  const std::int64_t none = std::numeric_limits<std::int64_t>::max(), wished = color ? *color : none;
  std::vector<std::int64_t> wishes(2 * n);
  const Tensor all = host_tensor(wishes);
  const Tensor mine = all.flat(2 * rank_, 2);
  mine.data<std::int64_t>()[0] = wished;
  mine.data<std::int64_t>()[1] = key;
  all_gather(mine, all).wait_host();

  std::set<std::int64_t> colors;
  std::vector<std::tuple<std::int64_t, int>> order;  // key, rank
  for (int rank = 0; rank < size_; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    colors.insert(wishes[2 * r]);
    if (wishes[2 * r] == wished) order.emplace_back(wishes[2 * r + 1], rank);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> ranks;    // numbers in this group
  std::vector<int> members;  // numbers in the group of all ranks
  for (const auto& [_, rank] : order) {
    ranks.push_back(rank);
    members.push_back(members_[static_cast<std::size_t>(rank)]);
  }
  std::optional<int> color_number;
  if (color) color_number = static_cast<int>(std::distance(colors.begin(), colors.find(wished)));
  std::unique_ptr<Transport> transport = transport_->split(color_number, key, ranks);
  std::unique_ptr<DeviceTransport> streams = split_device_group(color_number, key, use, ranks.size());
  if (!transport) return {};
  auto subgroup = std::unique_ptr<Communicator>(
      new Communicator(std::move(transport), engine_, std::move(name), std::move(members), staging_, host_));
  subgroup->set_bucket_bytes(bucket_bytes_);
  if (streams) subgroup->set_device_transport(std::move(streams), device_group_->order());
  return subgroup;
}

}  // namespace dt::comm
