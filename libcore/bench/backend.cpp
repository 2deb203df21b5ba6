#include "bench/backend.hpp"

#include "base/error.hpp"

namespace dt::bench {

int next_rank(const comm::Communicator& group) {
  return (group.rank() + 1) % group.size();
}
int previous_rank(const comm::Communicator& group) {
  return (group.rank() + group.size() - 1) % group.size();
}

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
      if (group.size() == 1) return [&group, in, out] { group.all_gather(in, out).wait_host(); };
      return transfer(next_rank(group), in, previous_rank(group), out);
    case Operation::barrier:
      return [&group] { group.barrier().wait_host(); };
  }
  return {};
}

Call DtBackend::transfer(int to, const Tensor& in, int from, const Tensor& out) {
  return [&group = group_, to, in, from, out] { group.send_receive(to, in, from, out).wait_host(); };
}

}  // namespace dt::bench
