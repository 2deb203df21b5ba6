#include "comm/collective_operations.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "comm/algorithms/algorithms.hpp"
#include "comm/device_collectives/device_group.hpp"

namespace dt::comm {

namespace {

/// Takes peers in the order of their distance, so that ranks do not all begin with the same one.
void exchange_parts(DeviceGroup& group, const Collective& c) {
  Transfers transfers;
  const int rank = group.transport().rank(), size = group.transport().size();
  for (int distance = 0; distance < size; ++distance) {
    const int to = (rank + distance) % size, from = (rank - distance + size) % size;
    transfers.push_back({to, flat_view(c.in, c.part(to)), true});
    transfers.push_back({from, flat_view(c.out, c.arriving(from)), false});
  }
  group.exchange(transfers);
}

/// Gathers on the root, or scatters from it.
void exchange_with_root(DeviceGroup& group, const Collective& c) {
  const bool to_root = traits(c.kind).to_root;
  const int rank = group.transport().rank();
  Transfers transfers = {{c.root, to_root ? c.in : c.out, to_root}};
  for (int peer = 0; rank == c.root && peer < group.transport().size(); ++peer)
    transfers.push_back({peer, flat_view(to_root ? c.out : c.in, c.part(peer)), !to_root});
  group.exchange(transfers);
}

constexpr auto table = std::to_array<CollectiveOperation>({
    {.kind = OperationKind::all_reduce,
     .on_hosts = all_reduce_algorithm,
     .on_stream = [](DeviceGroup& group, const Collective& c) { group.all_reduce(c.in, c.out, c.reduction); },
     .chunks = chunk_alike},
    {.kind = OperationKind::broadcast,
     .on_hosts = broadcast_algorithm,
     .on_stream = [](DeviceGroup& group,
                     const Collective& c) { group.broadcast(c.in ? c.in : c.out, c.root); },
     .chunks = chunk_alike},
    {.kind = OperationKind::all_gather,
     .on_hosts = ranges_algorithm,
     .on_stream = [](DeviceGroup& group, const Collective& c) { group.all_gather(c.in, c.out, c.part); },
     .chunks = chunk_parts},
    {.kind = OperationKind::reduce_scatter,
     .on_hosts = ranges_algorithm,
     .on_stream = [](DeviceGroup& group,
                     const Collective& c) { group.reduce_scatter(c.in, c.out, c.reduction, c.part); },
     .chunks = chunk_parts},
    {.kind = OperationKind::all_to_all,
     .on_hosts = all_to_all_algorithm,
     .on_stream = exchange_parts,
     .chunks = chunk_exchanges},
    {.kind = OperationKind::reduce,
     .on_hosts = reduce_algorithm,
     .on_stream = [](DeviceGroup& group,
                     const Collective& c) { group.reduce(c.in, c.out, c.reduction, c.root); },
     .chunks = chunk_alike},
    {.kind = OperationKind::gather,
     .on_hosts = root_exchange_algorithm,
     .on_stream = exchange_with_root,
     .chunks = chunk_parts},
    {.kind = OperationKind::scatter,
     .on_hosts = root_exchange_algorithm,
     .on_stream = exchange_with_root,
     .chunks = chunk_parts},
    {.kind = OperationKind::barrier, .on_hosts = barrier_algorithm},
});

}  // namespace

const CollectiveOperation& collective_operation(OperationKind kind) {
  const auto place = std::ranges::find(table, kind, &CollectiveOperation::kind);
  DT_CHECK(place != table.end(), "{} is not a collective", name_of(kind));
  return *place;
}

}  // namespace dt::comm
