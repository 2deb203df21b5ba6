#pragma once
// MPI's own collectives among all ranks, blocking, for comparison with dt's.

#include <climits>
#include <cstdint>
#include <memory>

#include "tensor/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm::mpi {

/// MPI's collectives on an MPI communicator of their own. World makes them; see World::collectives.
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
  struct State;
  Collectives();
  std::unique_ptr<State> state_;
};

}  // namespace dt::comm::mpi
