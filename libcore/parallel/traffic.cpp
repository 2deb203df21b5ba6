#include "parallel/traffic.hpp"

#include "parallel/flat.hpp"

namespace dt::parallel {

std::int64_t Traffic::sent_bytes(const Action& send) const {
  if (send.payload == Payload::activation || send.payload == Payload::gradient) return boundary_bytes;
  const DType dtype = send.payload == Payload::tied_gradient ? precision.wire() : precision.compute;
  std::int64_t bytes = 0;
  for (const model::GroupSpec& group : table.groups()) {
    if (group.holders.size() > 1)
      bytes += division.own(group.numel).count * static_cast<std::int64_t>(dtype_bytes(dtype));
  }
  return bytes;
}

std::vector<std::int64_t> Traffic::bytes_of(const ActionList& list) const {
  const auto weight_bytes = static_cast<std::int64_t>(dtype_bytes(precision.compute));
  const auto gradient_bytes = static_cast<std::int64_t>(dtype_bytes(precision.wire()));
  const auto numel = [&](int group) { return table.groups()[at(group)].numel; };
  const bool divides = division.divides_optimizer();
  std::vector<int> users(table.groups().size());
  std::vector<std::int64_t> bytes;
  for (const Action& action : list) {
    std::int64_t moved = 0;
    if (action.unit >= 0) {
      for (const int group : groups_of(table, action.unit)) {
        if (action.kind == ActionKind::gather && users[at(group)]++ == 0 && divides)
          moved += numel(group) * weight_bytes;
        if (action.kind == ActionKind::free) --users[at(group)];
        if (action.kind == ActionKind::reduce && (divides || replicas > 1))
          moved += numel(group) * gradient_bytes;
      }
    }
    if (action.kind == ActionKind::send) moved += sent_bytes(action);
    if (action.kind == ActionKind::control && divides && replicas > 1) {
      for (int group = 0; group < static_cast<int>(table.groups().size()); ++group) {
        const auto holders = static_cast<std::int64_t>(table.groups()[at(group)].holders.size());
        moved += holders * division.own(numel(group)).count * gradient_bytes;
      }
    }
    bytes.push_back(moved);
  }
  return bytes;
}

}  // namespace dt::parallel
