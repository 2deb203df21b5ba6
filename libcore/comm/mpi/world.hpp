#pragma once
// Ranks as processes that an MPI launcher started.

#include <memory>
#include <string>

#include "comm/communicator.hpp"

namespace dt::comm::mpi {

class Collectives;

/// The threads that may call MPI: any thread, one at a time; or one thread, while others call nothing
/// but World::abort. `single` saves locks: with Open MPI 4.1.4, 0.1 us in each small operation, and a
/// third of the time at 4 KiB.
enum class Threads { serialized, single };

/// Owns MPI from its initialization to its end; one per process. Create it after objects that block
/// signals for threads (StopSignals), as MPI starts some threads.
class World {
 public:
  /// Initializes MPI. `to_work_alone` is the option that the remedy names for tasks that should
  /// each work alone, or "" if the tool has none.
  /// Errors: environment, with the remedy (launcher_mismatch): srun started several tasks without support for
  /// this MPI, or another MPI's launcher started them. Each would be rank 0 of a job of its own.
  explicit World(Threads threads = Threads::serialized, const std::string& to_work_alone = "");
  /// Finalizes MPI, except while an exception unwinds.
  ~World();
  World(const World&) = delete;

  Communicator& communicator();
  /// Returns MPI's own collectives among the same ranks.
  Collectives& collectives();
  /// Ends all ranks at once with this exit code. Does not return.
  /// Thread safety: any thread may call it.
  [[noreturn]] void abort(int exit_code) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt::comm::mpi
