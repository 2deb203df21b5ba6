// Measures, under mpirun, what dt-allreduce-bench --backend mpi adds to the calls that it measures: see
// overhead.hpp.

#include <algorithm>
#include <mpi.h>

#include "bench/measure.hpp"
#include "bench/overhead.hpp"
#include "cmd/dt-allreduce-bench/backends.hpp"
#include "comm/mpi/collectives.hpp"
#include "comm/mpi/world.hpp"

namespace {

using namespace dt;
using bench::Operation;

/// Returns the time of one operation in the smallest program that measures MPI's operations.
double plain_loop_us(Operation operation, const bench::Workspace::Views& views, std::int64_t iterations) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int rank = 0, size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  void *in = views.in.raw(), *out = views.out.raw();
  const int n = static_cast<int>(std::max(views.in.numel(), views.out.numel())), part = n / size;
  const auto time = [&](auto call) {
    for (int i = 0; i < 5; ++i) call();
    MPI_Barrier(world);
    const double start = MPI_Wtime();
    for (std::int64_t i = 0; i < iterations; ++i) call();
    double us = (MPI_Wtime() - start) * 1e6 / static_cast<double>(iterations), slowest = 0;
    MPI_Allreduce(&us, &slowest, 1, MPI_DOUBLE, MPI_MAX, world);
    return slowest;
  };
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  switch (operation) {
    case Operation::all_reduce:
      return time([&] { MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, world); });
    case Operation::broadcast:
      return time([&] { MPI_Bcast(rank == 0 ? in : out, n, MPI_FLOAT, 0, world); });
    case Operation::all_gather:
      return time([&] { MPI_Allgather(in, part, MPI_FLOAT, out, part, MPI_FLOAT, world); });
    case Operation::reduce_scatter:
      return time([&] { MPI_Reduce_scatter_block(in, out, part, MPI_FLOAT, MPI_SUM, world); });
    case Operation::send_receive:
      return time([&] {
        MPI_Sendrecv(in, n, MPI_FLOAT, next, 0, out, n, MPI_FLOAT, previous, 0, world, MPI_STATUS_IGNORE);
      });
    default:
      return time([&] { MPI_Barrier(world); });
  }
}

void compare(comm::mpi::World& world, Operation operation) {
  comm::Communicator& group = world.communicator();
  allreduce_bench::MpiBackend backend(world.collectives(), group);
  const Context context(1, Device::host());
  const bench::overhead::Extent extent;
  bench::Workspace workspace(context, extent.max_bytes);
  bench::overhead::compare(
      operation, group.rank(), group.size(), extent,
      [&](const bench::Problem& problem, std::int64_t iterations) {
        const auto views = workspace.views(problem, false, group.rank(), backend.in_place_part(operation));
        return plain_loop_us(operation, views, iterations);
      },
      [&](const bench::Problem& problem, std::int64_t iterations) {
        const bench::MeasureSettings settings{.iterations = iterations, .warmup = 5, .checks = 0};
        return 1e6 * measure(group, backend, problem, false, workspace, settings).slowest_s;
      });
}

}  // namespace

int main() {
  comm::mpi::World world(comm::mpi::Threads::single);
  for (const Operation operation : {Operation::all_reduce, Operation::broadcast, Operation::all_gather,
                                    Operation::reduce_scatter, Operation::send_receive}) {
    compare(world, operation);
  }
}
