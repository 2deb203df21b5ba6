#pragma once
// MPI's own collectives among all ranks, blocking, for comparison with dt's.

#include <climits>
#include <cstdint>
#include <functional>
#include <memory>

#include "comm/core/collective.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm::mpi {

/// MPI's collectives on an MPI communicator of their own. World makes them; see World::collectives.
/// Errors: environment, with MPI's words; internal, a reduction of a dtype other than f64, f32, i64,
/// i32, u64, u32, unequal ranges, or more than max_count elements.
/// Collective: all ranks call each function together (send and receive: two ranks); the calls block.
class Collectives {
 public:
  /// The most elements of a call, or of each of its equal ranges.
  static constexpr std::int64_t max_count = INT_MAX;

  /// Returns a function that does the call and no more. In place, a range lies where the rank's range
  /// of the whole is; that of reduce_scatter lies at the beginning.
  std::function<void()> prepare(const Collective& call) const;
  void run(const Collective& call) const { prepare(call)(); }
  void send(int peer, const Tensor& data);
  void receive(int peer, const Tensor& data);
  /// Sends and receives at once.
  void send_receive(int to, const Tensor& out, int from, const Tensor& in);

  ~Collectives();
  Collectives(const Collectives&) = delete;

 private:
  friend class World;
  struct State;
  Collectives();
  std::unique_ptr<State> state_;
};

}  // namespace dt::comm::mpi
