#include "cmd/dt-allreduce-bench/backends.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::allreduce_bench {

using bench::Operation;

void MpiBackend::require(Operation operation, DType dtype, comm::Reduction) const {
  const bool is_lacking = is_narrow_float(dtype) || dtype == DType::u8;
  if (!bench::traits(operation).reduces || !is_lacking) return;
  throw Error(ErrorKind::usage,
              fmt::format("--backend mpi does not reduce {}", name_in(bench::dtype_names, dtype)),
              "choose another --dtype, --operations that only move data, or --backend dt");
}

int MpiBackend::in_place_part(Operation operation) const {
  return bench::traits(operation).reduces ? 0 : group_.rank();
}

bench::CollectiveCall MpiBackend::prepare(const bench::Problem& problem, const Tensor& in,
                                          const Tensor& out) {
  if (problem.operation == Operation::send_receive)
    return transfer(bench::next_rank(group_), in, bench::previous_rank(group_), out);
  return {library_.prepare(bench::collective_of(problem, in, out))};
}

bench::CollectiveCall MpiBackend::transfer(int to, const Tensor& in, int from, const Tensor& out) {
  return {[&mpi = library_, to, in, from, out] { mpi.send_receive(to, in, from, out); }};
}

std::vector<std::unique_ptr<bench::Backend>> make_backends(const std::vector<std::string>& names,
                                                           Device device, const comm::Ranks& ranks) {
  std::vector<std::unique_ptr<bench::Backend>> backends;
  const auto add = [&](const std::string& name) {
    const auto is_same = [&](const auto& made) { return made->name() == name; };
    if (std::any_of(backends.begin(), backends.end(), is_same)) return;
    if (name == "dt") {
      backends.push_back(std::make_unique<bench::DtBackend>(ranks.world));
    } else if (name == "nccl") {
      backends.push_back(std::make_unique<NcclBackend>(ranks.world));
    } else {
      DT_CHECK(ranks.collectives != nullptr, "these ranks have no MPI");
      backends.push_back(std::make_unique<MpiBackend>(*ranks.collectives, ranks.world));
    }
  };
  for (const std::string& name : names) add(name);
  const bool has_mpi = ranks.collectives != nullptr && device == Device::host();
  if (names.empty()) add(has_mpi ? "mpi" : "dt");
  return backends;
}

}  // namespace dt::allreduce_bench
