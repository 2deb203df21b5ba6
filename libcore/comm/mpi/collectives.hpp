#pragma once
// MPI's own collectives on the group of everyone, blocking, for comparison with dt's.

#include <climits>
#include <cstdint>
#include <memory>

#include "comm/reduction.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm::mpi {

/// Made by World, on an MPI communicator of its own; see World::collectives. Every function is called by all
/// ranks together (send and receive by two) and blocks. Errors: environment, with MPI's words; internal for
/// dtypes other than f64, f32, i64, i32, u64, u32 where something is reduced, and for more than max_count.
class Collectives {
 public:
  /// Elements of a call, or of each of its equal parts.
  static constexpr std::int64_t max_count = INT_MAX;

  /// out may be in.
  void all_reduce(const Tensor& in, const Tensor& out, Reduction reduction);
  /// Equal parts: in has n times the elements of out, which may be the first of them.
  void reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction);
  /// Equal parts: out has n times the elements of in, which may be this rank's of them.
  void all_gather(const Tensor& in, const Tensor& out);
  void broadcast(const Tensor& data, int root);
  void barrier();
  void send(int peer, const Tensor& data);
  void receive(int peer, const Tensor& data);
  /// Both at once.
  void send_receive(int to, const Tensor& out, int from, const Tensor& in);

  ~Collectives();
  Collectives(const Collectives&) = delete;

 private:
  friend class World;
  struct State;
  explicit Collectives(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dt::comm::mpi
