// What dt-allreduce-bench --backend mpi adds to the calls that it measures: under mpirun, its measurement and
// a plain MPI loop of the same calls on the same memory, by turns in one process, as processes differ by more
// than what is sought. Times are of the slowest rank, in µs; medians over the rounds. The plain loop runs a
// second time, to show how much equals differ here.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <mpi.h>
#include <vector>

#include "bench/measure.hpp"
#include "cmd/dt-allreduce-bench/backends.hpp"
#include "comm/mpi/world.hpp"

namespace {

using namespace dt;
using bench::Operation;

constexpr int rounds = 41;
constexpr std::int64_t max_bytes = 16 << 20;
constexpr std::int64_t small_bytes = 64 << 10;

/// The least program that measures MPI's operations.
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
    case Operation::barrier:
      return time([&] { MPI_Barrier(world); });
  }
  return 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Worst {
  double added_us = -1e9;
  double ratio = 0;
  void take(std::int64_t bytes, double loop_us, double other_us) {
    if (bytes < small_bytes) {
      added_us = std::max(added_us, other_us - loop_us);
    } else {
      ratio = std::max(ratio, other_us / loop_us);
    }
  }
};

void compare(comm::mpi::World& world, Operation operation) {
  comm::Communicator& group = world.communicator();
  allreduce_bench::MpiBackend backend(world.collectives(), group);
  bench::Workspace workspace(max_bytes);
  Worst tool_worst, loop_worst;
  for (std::int64_t bytes = 8; bytes <= max_bytes; bytes *= 2) {
    const bench::Problem problem{.operation = operation, .num_ranks = group.size(), .numel = bytes / 4};
    const auto views = workspace.views(problem, false, group.rank(), backend.in_place_part());
    // About as long for each size: what is sought is small beside what a moment's disturbance costs.
    const std::int64_t iterations = std::clamp<std::int64_t>((4 << 20) / bytes, 16, 2000);
    std::array<std::vector<double>, 3> us;
    for (int round = 0; round < rounds; ++round) {
      us[0].push_back(plain_loop_us(operation, views, iterations));
      const bench::MeasureSettings settings{.iterations = iterations, .warmup = 5, .checks = 0};
      us[1].push_back(1e6 * measure(group, backend, problem, false, workspace, settings).slowest_s);
      us[2].push_back(plain_loop_us(operation, views, iterations));
    }
    const double loop = median(us[0]), tool = median(us[1]), again = median(us[2]);
    tool_worst.take(bytes, loop, tool);
    loop_worst.take(bytes, loop, again);
    if (group.rank() != 0) continue;
    std::printf("%-14s %10lld  loop %10.3f  tool %10.3f  added %8.3f  ratio %6.3f  loop again %10.3f\n",
                bench::traits(operation).name, static_cast<long long>(bytes), loop, tool, tool - loop,
                tool / loop, again);
  }
  if (group.rank() != 0) return;
  std::printf(
      "%-14s worst: %.3f us added below 64 KiB (at most 0.1), ratio %.3f from there up (at most 1.03); the "
      "loop "
      "against itself %.3f us, %.3f\n",
      bench::traits(operation).name, tool_worst.added_us, tool_worst.ratio, loop_worst.added_us,
      loop_worst.ratio);
}

}  // namespace

int main() {
  comm::mpi::World world(comm::mpi::Threads::single);
  for (const Operation operation : {Operation::all_reduce, Operation::broadcast, Operation::all_gather,
                                    Operation::reduce_scatter, Operation::send_receive}) {
    compare(world, operation);
  }
}
