#include "bench/backend.hpp"

#include <memory>
#include <vector>

#include "base/error.hpp"

namespace dt::bench {

namespace {

// The most operations that may be enqueued on a stream before the call waits for all of them.
constexpr std::size_t most_under_way = 1024;

/// Returns the call of an operation. start_one() starts it and returns its Work.
template <class StartOne>
CollectiveCall call_of(const comm::Communicator& group, StartOne start_one) {
  if (!group.has_device_transport()) return {[start_one] { start_one().wait_host(); }};
  const auto under_way = std::make_shared<std::vector<comm::Work>>();
  const auto finish = [under_way] {
    for (const comm::Work& work : *under_way) work.wait_host();
    under_way->clear();
  };
  return {[start_one, under_way, finish] {
            under_way->push_back(start_one());
            if (under_way->size() == most_under_way) finish();
          },
          finish};
}

}  // namespace

int next_rank(const comm::Communicator& group) {
  return (group.rank() + 1) % group.size();
}
int previous_rank(const comm::Communicator& group) {
  return (group.rank() + group.size() - 1) % group.size();
}

void DtBackend::require(Operation operation, DType dtype, comm::Reduction) const {
  if (!traits(operation).reduces || dtype != DType::u8) return;
  throw Error(ErrorKind::usage,
              fmt::format("--backend {} does not reduce {}", name_, name_in(dtype_names, dtype)),
              "choose another --dtype, or --operations that only move data");
}

comm::Collective collective_of(const Problem& problem, const Tensor& in, const Tensor& out) {
  return {
      .kind = problem.operation, .in = in, .out = out, .reduction = problem.reduction, .root = problem.root};
}

CollectiveCall DtBackend::prepare(const Problem& problem, const Tensor& in, const Tensor& out) {
  comm::Communicator& group = group_;
  if (problem.operation == Operation::send_receive) {
    if (group.size() == 1) return call_of(group, [&group, in, out] { return group.all_gather(in, out); });
    return transfer(next_rank(group), in, previous_rank(group), out);
  }
  const comm::Collective call = collective_of(problem, in, out);
  if (!traits(problem.operation).has_data()) return {[&group, call] { group.start(call).wait_host(); }};
  return call_of(group, [&group, call] { return group.start(call); });
}

CollectiveCall DtBackend::transfer(int to, const Tensor& in, int from, const Tensor& out) {
  return call_of(group_,
                 [&group = group_, to, in, from, out] { return group.send_receive(to, in, from, out); });
}

}  // namespace dt::bench
