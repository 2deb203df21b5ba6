#pragma once
// The arguments of a tool's work when it runs as several ranks.

#include <functional>

#include "base/cli/console.hpp"
#include "base/error.hpp"
#include "comm/communicator.hpp"

namespace dt::comm {

namespace mpi {
class Collectives;
}

/// The choice whether ranks exchange GPU memory through NCCL (see DeviceTransportLibrary) or by messages.
/// `where_possible` needs NCCL and a GPU of its own on every rank. With `required`, the run fails
/// if NCCL cannot be used.
enum class NcclPolicy { never, where_possible, required };

/// This rank among all. Rank 0 writes to the console; other ranks only report errors on it.
struct Ranks {
  Communicator& world;
  Console& console;
  /// Reports the error and ends every rank at once.
  /// Thread safety: any thread may call it.
  std::function<void(const Error&)> abort;
  /// True if ranks can be lost one by one.
  bool are_processes = false;
  /// MPI's own operations among these ranks; null if ranks are threads.
  mpi::Collectives* collectives = nullptr;
  NcclPolicy nccl = NcclPolicy::never;

  bool is_root() const { return world.rank() == 0; }
};

}  // namespace dt::comm
