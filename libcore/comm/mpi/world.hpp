#pragma once
// Ranks as processes that an MPI launcher started.

#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.hpp"
#include "comm/mpi/collectives.hpp"

namespace dt::comm::mpi {

/// Returns whether a launcher that MPI understands, mpirun or srun with several tasks, started this
/// process.
bool is_launched();

/// The threads that may call MPI: any thread, one at a time; or one thread, while others call nothing
/// but World::abort. `single` saves locks: with Open MPI 4.1.4, 0.1 us in each small operation, and a
/// third of the time at 4 KiB.
enum class Threads { serialized, single };

/// Owns MPI from its initialisation to its end; one per process. The caller makes it after whatever
/// blocks signals for threads (StopSignals), as MPI starts some threads.
class World {
 public:
  /// Initialises MPI. `to_work_alone` is the option that the remedy names for tasks that are to work
  /// alone, or "" if the tool has none.
  /// Errors: environment, with the remedy: srun started several tasks that MPI does not know of each
  /// other, each of which would be a lone rank 0.
  explicit World(Threads threads = Threads::serialized, const std::string& to_work_alone = "");
  /// Finalises MPI if all is well; leaves it alone while an exception is under way.
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

/// Returns "Open MPI v4.1.4, ...".
std::string library_version();

}  // namespace dt::comm::mpi
