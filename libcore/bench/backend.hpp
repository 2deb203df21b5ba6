#pragma once
// Whose operations are measured.

#include <cstdint>
#include <functional>
#include <limits>

#include "bench/operation.hpp"
#include "comm/communicator.hpp"

namespace dt::bench {

/// Performs one operation: what was started is done when finish() returns. Where operations go on by
/// themselves, on a device's stream, several may be started in a row.
struct Call {
  std::function<void()> start;
  std::function<void()> finish = [] {};
  void operator()() const {
    start();
    finish();
  }
};

/// In the ring that send_receive goes round.
int next_rank(const comm::Communicator& group);
int previous_rank(const comm::Communicator& group);

/// Of one rank; all ranks call the same functions in the same order.
class Backend {
 public:
  virtual ~Backend() = default;
  /// As --backend says it: "mpi".
  virtual const char* name() const = 0;
  /// Errors: usage, naming what it lacks.
  virtual void require(Operation operation, DType dtype, comm::Reduction reduction) const = 0;
  /// Elements of a Problem's count() that a call can take.
  virtual std::int64_t max_count() const { return std::numeric_limits<std::int64_t>::max(); }
  /// Which of the n parts of its input a reduce_scatter in place leaves its result in.
  virtual int in_place_part() const = 0;
  /// All that can be settled before the operation is: the call does nothing else. `in` and `out` have
  /// in_count() and out_count() elements; in place, `in` is `out` or the part of `out` that starts at
  /// in_begin(), or `out` is the in_place_part() of `in`. A broadcast's data leave from the root's `in` and
  /// arrive in `out`.
  virtual Call prepare(const Problem& problem, const Tensor& in, const Tensor& out) = 0;
  /// Sends to one other rank and receives from one, which may be the same, at once. These ranks alone call
  /// it.
  virtual Call transfer(int to, const Tensor& in, int from, const Tensor& out) = 0;
};

/// dt's own operations, or what a group goes through.
class DtBackend : public Backend {
 public:
  /// `name`: of whose operations the group's are.
  explicit DtBackend(comm::Communicator& group, const char* name = "dt") : group_(group), name_(name) {}
  const char* name() const override { return name_; }
  void require(Operation operation, DType dtype, comm::Reduction reduction) const override;
  int in_place_part() const override { return group_.rank(); }
  Call prepare(const Problem& problem, const Tensor& in, const Tensor& out) override;
  Call transfer(int to, const Tensor& in, int from, const Tensor& out) override;

 private:
  comm::Communicator& group_;
  const char* name_;
};

}  // namespace dt::bench
