#pragma once
// What a tool's work is given when it runs as several ranks.

#include <functional>

#include "base/console.hpp"
#include "base/error.hpp"
#include "comm/communicator.hpp"

namespace dt::comm {

namespace mpi {
class Collectives;
}

/// Whether memory of GPUs goes between ranks through NCCL (see StreamLibrary), where all have it and a GPU of
/// their own; or must; or goes by messages.
enum class StreamWish { never, where_possible, required };

/// This rank among all. The console is rank 0's voice; other ranks only report errors on it.
struct Ranks {
  Communicator& world;
  Console& console;
  /// Says what happened and ends every rank at once; from any thread.
  std::function<void(const Error&)> abort;
  /// Whether ranks can be lost one by one.
  bool are_processes = false;
  /// MPI's own operations among these ranks; none where they are threads.
  mpi::Collectives* collectives = nullptr;
  StreamWish streams = StreamWish::never;

  bool is_first() const { return world.rank() == 0; }
};

}  // namespace dt::comm
