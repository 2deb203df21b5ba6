#include "comm/sent_bytes.hpp"

#include <cstddef>
#include <optional>

#include "comm/core/reduction.hpp"
#include "comm/node/locality.hpp"

namespace dt::comm {

namespace {

/// Counts what one rank sends to others.
class Sender {
 public:
  Sender(std::span<const int> hosts, int rank, double bytes)
      : hosts_(hosts), rank_(rank), range_bytes_(bytes / static_cast<double>(hosts.size())) {}

  /// Counts the ranges of `num_ranges` ranks.
  void send(int to, double num_ranges) {
    const bool is_here = hosts_[static_cast<std::size_t>(to)] == hosts_[static_cast<std::size_t>(rank_)];
    (is_here ? sent.within_hosts : sent.between_hosts) += num_ranges * range_bytes_;
  }
  void send_to_all() {
    for (int to = 0; to < static_cast<int>(hosts_.size()); ++to) {
      if (to != rank_) send(to, 1);
    }
  }
  /// Counts the messages within a node and then between nodes. Each neighbour gets its range of each
  /// node. The ranks of this rank's place on other nodes get one range each, of `factor` times the
  /// bytes.
  void send_by_levels(const Placement& placement, double factor) {
    const int own_node = rank_ / placement.per_host, own_place = rank_ % placement.per_host;
    for (int place = 0; place < placement.per_host; ++place) {
      if (place != own_place) send(own_node * placement.per_host + place, placement.num_hosts);
    }
    for (int node = 0; node < placement.num_hosts; ++node) {
      if (node != own_node) send(node * placement.per_host + own_place, factor);
    }
  }

  SentBytes sent;

 private:
  std::span<const int> hosts_;
  int rank_;
  double range_bytes_;
};

}  // namespace

SentBytes sent_bytes(OperationKind kind, double bytes, DType dtype, std::span<const int> hosts, int rank) {
  const std::optional<Placement> placement = placement_of(hosts);
  Sender sender(hosts, rank, bytes);
  if (traits(kind).in == Extent::parts) sender.send_to_all();
  if (traits(kind).reduces) {
    const double widened =
        static_cast<double>(dtype_bytes(accumulator_dtype(dtype))) / static_cast<double>(dtype_bytes(dtype));
    if (placement && is_hierarchical_sum_faster(dtype, *placement))
      sender.send_by_levels(*placement, widened);
    else
      sender.send_to_all();
  }
  if (traits(kind).out == Extent::whole) {
    if (placement)
      sender.send_by_levels(*placement, 1);
    else
      sender.send_to_all();
  }
  return sender.sent;
}

}  // namespace dt::comm
