#include "bench/backend.hpp"

#include "base/error.hpp"

namespace dt::bench {

namespace {

Call exchange(comm::Communicator& group, const Tensor& in, const Tensor& out) {
  const int n = group.size();
  if (n == 1) return [&group, in, out] { group.all_gather(in, out).wait_host(); };
  const int next = (group.rank() + 1) % n, previous = (group.rank() + n - 1) % n;
  return [&group, next, previous, in, out] { group.send_receive(next, in, previous, out).wait_host(); };
}

}  // namespace

void DtBackend::require(Operation operation, DType dtype, comm::Reduction) const {
  if (!traits(operation).reduces || dtype != DType::u8) return;
  throw Error(ErrorKind::usage, fmt::format("--backend {} does not reduce {}", name_, name_of(dtype)),
              "choose another --dtype, or --operations that only move data");
}

Call DtBackend::prepare(const Problem& problem, const Tensor& in, const Tensor& out) {
  comm::Communicator& group = group_;
  switch (problem.operation) {
    case Operation::all_reduce:
      return [&group, in, out, reduction = problem.reduction] {
        group.all_reduce(in, out, reduction).wait_host();
      };
    case Operation::reduce_scatter:
      return [&group, in, out, reduction = problem.reduction] {
        group.reduce_scatter(in, out, reduction).wait_host();
      };
    case Operation::all_gather:
      return [&group, in, out] { group.all_gather(in, out).wait_host(); };
    case Operation::broadcast:
      return [&group, data = group.rank() == problem.root ? in : out, root = problem.root] {
        group.broadcast(data, root).wait_host();
      };
    case Operation::send_receive:
      return exchange(group, in, out);
    case Operation::barrier:
      return [&group] { group.barrier().wait_host(); };
  }
  return {};
}

}  // namespace dt::bench
