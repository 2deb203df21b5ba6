#pragma once
// Ranks as processes that an MPI launcher started, and MPI's own collectives among them.

#include <climits>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.hpp"
#include "comm/core/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm::mpi {

/// MPI's own collectives among all ranks, for comparison with dt's. They have an MPI communicator of
/// their own. World makes them; see World::collectives.
/// Errors: environment, with MPI's words; internal, a reduction of a dtype other than f64, f32, i64,
/// i32, u64, u32, or more than max_count elements.
/// Collective: all ranks call each function together (send and receive: two ranks); every function
/// blocks.
class Collectives {
 public:
  /// The most elements of a call, or of each of its equal ranges.
  static constexpr std::int64_t max_count = INT_MAX;

  /// Sets out = the combined `in` of all ranks. `out` may be `in`.
  void all_reduce(const Tensor& in, const Tensor& out, Reduction reduction);
  /// Sets out = this rank's range of the combined `in`.
  /// Shapes: equal ranges; `in` has n times the elements of `out`, which may be the first elements of
  /// `in`.
  void reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction);
  /// Gathers all ranks' ranges on every rank.
  /// Shapes: equal ranges; `out` has n times the elements of `in`, which may be this rank's range of
  /// `out`.
  void all_gather(const Tensor& in, const Tensor& out);
  void broadcast(const Tensor& data, int root);
  void barrier();
  void send(int peer, const Tensor& data);
  void receive(int peer, const Tensor& data);
  /// Sends and receives at once.
  void send_receive(int to, const Tensor& out, int from, const Tensor& in);

  ~Collectives();
  Collectives(const Collectives&) = delete;

 private:
  friend class World;
  struct CollectivesState;
  explicit Collectives(std::unique_ptr<CollectivesState> state);
  std::unique_ptr<CollectivesState> state_;
};

/// Returns whether a launcher that MPI understands, mpirun or srun with several tasks, started this
/// process.
bool is_launched();

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
  /// Errors: environment, with the remedy: srun started several tasks without MPI support, or
  /// another MPI's launcher started them. Each task would be rank 0 of a job of its own.
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

/// Returns "Open MPI v4.1.4, ...".
std::string library_version();

}  // namespace dt::comm::mpi
