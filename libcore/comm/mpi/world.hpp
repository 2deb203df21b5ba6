#pragma once
// Ranks as processes that an MPI launcher started.

#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.hpp"
#include "comm/mpi/collectives.hpp"

namespace dt::comm::mpi {

/// Whether a launcher that MPI understands, mpirun or srun with several tasks, started this process.
bool is_launched();

/// Who may call MPI: any thread, one at a time; or one thread, and others nothing but World::abort. The
/// latter saves locks: of Open MPI 4.1.4, 0.1 us in each small operation, and a third of the time at 4 KiB.
enum class Threads { serialized, single };

/// Owns MPI from its initialisation to its end; one per process. Make it after whatever blocks signals for
/// threads (StopSignals), as MPI starts some.
class World {
 public:
  /// Errors: environment, with the remedy, where srun started several tasks that MPI does not know of each
  /// other (each would be a lone rank 0); `to_work_alone` is the option that the remedy names for those that
  /// are to be just that, "" where the tool has none.
  explicit World(Threads threads = Threads::serialized, const std::string& to_work_alone = "");
  /// Finalises MPI where all is well; leaves it alone while an exception is under way.
  ~World();
  World(const World&) = delete;

  Communicator& communicator();
  /// MPI's own collectives among the same ranks.
  Collectives& collectives();
  /// Ends all ranks at once with this exit code; safe from any thread, and does not return.
  [[noreturn]] void abort(int exit_code) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "Open MPI v4.1.4, ..."
std::string library_version();

}  // namespace dt::comm::mpi
