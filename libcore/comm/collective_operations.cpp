#include "comm/collective_operations.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace dt::comm {

namespace {

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
    {.kind = OperationKind::barrier, .on_hosts = barrier_algorithm},
});

}  // namespace

const CollectiveOperation& collective_operation(OperationKind kind) {
  const auto place = std::ranges::find(table, kind, &CollectiveOperation::kind);
  DT_CHECK(place != table.end(), "{} is no collective", name_of(kind));
  return *place;
}

}  // namespace dt::comm
