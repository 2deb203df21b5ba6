#pragma once
// What messages call an operation.

#include <cstdint>
#include <string>

#include "comm/recorder.hpp"

namespace dt::comm {

struct OperationName {
  OperationKind kind = OperationKind::barrier;
  std::string group{};
  std::int64_t sequence = 0;  // of the group's, from 1; 0 of sends and receives
  std::int64_t bytes = 0;
  int peer = -1;  // of sends and receives
};

/// "all_reduce 7 of 4096 bytes in group data"
std::string to_string(const OperationName& name);

}  // namespace dt::comm
