#pragma once
// The backends that --backend names.

#include <memory>
#include <string>
#include <vector>

#include "bench/backend.hpp"
#include "comm/mpi/collectives.hpp"
#include "comm/ranks.hpp"

namespace dt::allreduce_bench {

/// The collectives of the MPI library.
class MpiBackend final : public bench::Backend {
 public:
  MpiBackend(comm::mpi::Collectives& library, comm::Communicator& group) : library_(library), group_(group) {}
  const char* name() const override { return "mpi"; }
  void require(bench::Operation operation, DType dtype, comm::Reduction reduction) const override;
  std::int64_t max_count() const override { return comm::mpi::Collectives::max_count; }
  int in_place_part(bench::Operation operation) const override;
  bench::CollectiveCall prepare(const bench::Problem& problem, const Tensor& in, const Tensor& out) override;
  bench::CollectiveCall transfer(int to, const Tensor& in, int from, const Tensor& out) override;

 private:
  comm::mpi::Collectives& library_;
  comm::Communicator& group_;
};

/// A second group of the same ranks.
struct NcclGroupHolder {
  std::unique_ptr<comm::Communicator> group;
};
/// NCCL's own collectives. Reductions use NCCL's order of summation. All ranks must have NCCL.
class NcclBackend final : private NcclGroupHolder, public bench::DtBackend {
 public:
  /// Collective: called by all ranks together; blocks.
  explicit NcclBackend(comm::Communicator& ranks)
      : NcclGroupHolder{ranks.split(0, ranks.rank(), "nccl")}, bench::DtBackend(*group, "nccl") {
    group->set_reduce_order(comm::ReduceOrder::free);
  }
};

/// Creates the backends in the order of `names`, each once. Without names it creates mpi if MPI is
/// running and accepts the device's memory, else dt.
std::vector<std::unique_ptr<bench::Backend>> make_backends(const std::vector<std::string>& names,
                                                           Device device, const comm::Ranks& ranks);

}  // namespace dt::allreduce_bench
