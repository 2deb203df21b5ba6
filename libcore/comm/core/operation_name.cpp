#include "comm/core/operation_name.hpp"

#include <fmt/format.h>

namespace dt::comm {

std::string to_string(const OperationName& name) {
  std::string text = operation_name(name.kind);
  if (name.sequence > 0) text += fmt::format(" {}", name.sequence);
  if (name.kind == OperationKind::send) text += fmt::format(" to rank {}", name.peer);
  if (name.kind == OperationKind::receive) text += fmt::format(" from rank {}", name.peer);
  return fmt::format("{} of {} bytes in group {}", text, name.bytes, name.group);
}

}  // namespace dt::comm
