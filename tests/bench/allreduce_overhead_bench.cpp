// What dt-allreduce-bench --backend mpi adds to the calls that it measures: under mpirun, its measurement and
// a plain MPI loop of the same calls on the same memory, by turns in one process, as processes differ by more
// than what is sought. Times are of the slowest rank, in µs. The memory and the processor change from second
// to second, so a round is loop, tool, loop, loop, loop: the tool, and as a check another loop, are each held
// against the mean of the loops just before and after, and the median over the rounds counts. What the check
// shows is how much equals differ here.
#include <algorithm>
#include <cmath>
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

/// Something beside the loops just before and after it, of each round.
struct Beside {
  std::vector<double> added_us, ratios;
  void take(double before_us, double us, double after_us) {
    const double loop_us = (before_us + after_us) / 2;
    added_us.push_back(us - loop_us);
    ratios.push_back(us / loop_us);
  }
};

/// Of the check what it is off by either way: the tool's is no better known than that.
struct Off {
  double us = 0;
  double share = 0;
  void take(std::int64_t bytes, const Beside& beside) {
    if (bytes < small_bytes) {
      us = std::max(us, std::abs(median(beside.added_us)));
    } else {
      share = std::max(share, std::abs(median(beside.ratios) - 1));
    }
  }
};

struct Worst {
  double added_us = -1e9;
  double ratio = 0;
  void take(std::int64_t bytes, const Beside& beside) {
    if (bytes < small_bytes) {
      added_us = std::max(added_us, median(beside.added_us));
    } else {
      ratio = std::max(ratio, median(beside.ratios));
    }
  }
};

void compare(comm::mpi::World& world, Operation operation) {
  comm::Communicator& group = world.communicator();
  allreduce_bench::MpiBackend backend(world.collectives(), group);
  const Context context(1, Device::host());
  bench::Workspace workspace(context, max_bytes);
  Worst tool_worst;
  Off check_off;
  for (std::int64_t bytes = 8; bytes <= max_bytes; bytes *= 2) {
    const bench::Problem problem{.operation = operation, .num_ranks = group.size(), .numel = bytes / 4};
    const auto views = workspace.views(problem, false, group.rank(), backend.in_place_part());
    // About as long for each size: what is sought is small beside what a moment's disturbance costs.
    const std::int64_t iterations = std::clamp<std::int64_t>((4 << 20) / bytes, 16, 2000);
    const bench::MeasureSettings settings{.iterations = iterations, .warmup = 5, .checks = 0};
    const auto loop_us = [&] { return plain_loop_us(operation, views, iterations); };
    Beside tool, check;
    std::vector<double> loop;
    for (int round = 0; round < rounds; ++round) {
      const double first = loop_us();
      const double tool_us = 1e6 * measure(group, backend, problem, false, workspace, settings).slowest_s;
      const double second = loop_us(), check_us = loop_us(), third = loop_us();
      tool.take(first, tool_us, second);
      check.take(second, check_us, third);
      loop.push_back(second);
    }
    tool_worst.take(bytes, tool);
    check_off.take(bytes, check);
    if (group.rank() != 0) continue;
    std::printf(
        "%-14s %10lld  loop %10.3f  tool: added %8.3f  ratio %6.3f  loop again: added %8.3f  ratio %6.3f\n",
        bench::traits(operation).name, static_cast<long long>(bytes), median(loop), median(tool.added_us),
        median(tool.ratios), median(check.added_us), median(check.ratios));
  }
  if (group.rank() != 0) return;
  std::printf(
      "%-14s worst: %.3f us added below 64 KiB (at most 0.1), ratio %.3f from there up (at most 1.03); the "
      "loop "
      "against itself is off by up to %.3f us, %.3f\n",
      bench::traits(operation).name, tool_worst.added_us, tool_worst.ratio, check_off.us, check_off.share);
}

}  // namespace

int main() {
  comm::mpi::World world(comm::mpi::Threads::single);
  for (const Operation operation : {Operation::all_reduce, Operation::broadcast, Operation::all_gather,
                                    Operation::reduce_scatter, Operation::send_receive}) {
    compare(world, operation);
  }
}
