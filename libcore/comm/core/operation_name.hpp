#pragma once
// Names operations in messages.

#include <cstdint>
#include <string>

#include "comm/core/recorder.hpp"

namespace dt::comm {

struct OperationName {
  OperationKind kind = OperationKind::barrier;
  std::string group{};
  std::int64_t sequence = 0;  // among the group's, from 1; 0: a send or receive
  std::int64_t bytes = 0;
  int peer = -1;  // sends and receives only
};

/// Returns "all_reduce 7 of 4096 bytes in group data".
std::string to_string(const OperationName& name);

}  // namespace dt::comm
