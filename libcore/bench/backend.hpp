#pragma once
// The backends whose operations are measured.

#include <cstdint>
#include <functional>
#include <limits>

#include "bench/operation.hpp"
#include "comm/communicator.hpp"

namespace dt::bench {

/// A prepared operation. All that was started is done when finish() returns. On a device's stream,
/// where operations go on by themselves, several may be started in a row.
struct CollectiveCall {
  std::function<void()> start;
  std::function<void()> finish = [] {};
  void operator()() const {
    start();
    finish();
  }
};

/// Returns a rank's neighbour in the ring of send_receive.
int next_rank(const comm::Communicator& group);
int previous_rank(const comm::Communicator& group);

/// Returns the call of a problem's collective on these tensors.
comm::Collective collective_of(const Problem& problem, const Tensor& in, const Tensor& out);

/// The operations of one rank.
/// Collective: all ranks call the same functions in the same order.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Returns the name that --backend has for it: "mpi".
  virtual const char* name() const = 0;
  /// Refuses an operation that the backend lacks.
  /// Errors: usage, naming what it lacks.
  virtual void require(Operation operation, DType dtype, comm::Reduction reduction) const = 0;
  /// Returns the largest Problem::count() that a call can take.
  virtual std::int64_t max_count() const { return std::numeric_limits<std::int64_t>::max(); }
  /// Returns the index of the part of its input, among n, in which an operation in place leaves the
  /// part that this rank gets.
  virtual int in_place_part(Operation operation) const = 0;
  /// Prepares an operation as far as possible, so that the returned call does nothing but the
  /// operation. `in` and `out` have in_count() and out_count() elements. In place, `in` is `out` or
  /// the part of `out` that starts at in_begin(), or `out` is the in_place_part() of `in`. A
  /// broadcast's data leave from the root's `in` and arrive in `out`.
  virtual CollectiveCall prepare(const Problem& problem, const Tensor& in, const Tensor& out) = 0;
  /// Prepares a send to one rank and a simultaneous receive from one rank, which may be the same.
  /// Collective: these ranks alone call it.
  virtual CollectiveCall transfer(int to, const Tensor& in, int from, const Tensor& out) = 0;
};

/// The operations of a communicator: dt's own, or those of the library that carries it.
class DtBackend : public Backend {
 public:
  /// `name` is the name of the library whose operations the group uses.
  explicit DtBackend(comm::Communicator& group, const char* name = "dt") : group_(group), name_(name) {}
  const char* name() const override { return name_; }
  void require(Operation operation, DType dtype, comm::Reduction reduction) const override;
  int in_place_part(Operation) const override { return group_.rank(); }
  CollectiveCall prepare(const Problem& problem, const Tensor& in, const Tensor& out) override;
  CollectiveCall transfer(int to, const Tensor& in, int from, const Tensor& out) override;

 private:
  comm::Communicator& group_;
  const char* name_;
};

}  // namespace dt::bench
