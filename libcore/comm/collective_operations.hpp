#pragma once
// The table of collectives: how each runs on hosts' memory, on streams, and in chunks.

#include <cstddef>
#include <vector>

#include "comm/core/collective.hpp"

namespace dt::comm {

struct Algorithm;
struct Caller;
class DeviceGroup;

/// A collective as it runs. Its functions get calls that complete() has made.
struct CollectiveOperation {
  OperationKind kind;
  /// Returns the rounds of messages between hosts' memory.
  Algorithm (*on_hosts)(const Caller& caller, const Collective& call);
  /// Enqueues the operation on a group's stream. Null: the operation has no data.
  void (*on_stream)(DeviceGroup& group, const Collective& call) = nullptr;
  /// Cuts the operation into chunks that pass through the hosts' memory, for groups without streams.
  std::vector<TransferChunk> (*chunks)(const Collective& call, int rank, int size,
                                       std::size_t chunk_bytes) = nullptr;
};

/// Errors: internal, the kind is that of a transfer between two ranks.
const CollectiveOperation& collective_operation(OperationKind kind);

}  // namespace dt::comm
