// Whether reductions of gradients that do not fit the caches run at the memory's speed where all ranks are on
// one host: under mpirun, dt's all-reduce beside streaming by all ranks at once and beside the MPI library's
// own all-reduce, by turns, as ratios of medians within this run.
//
// Bytes touched: with n ranks each rank's input is read once and each rank's output written once, 2nN for N
// bytes; what else passes between ranks should stay in the caches. Streaming: the faster of a copy, which
// touches two arrays, and a triad (McCalpin 1995), which touches three.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mpi.h>
#include <vector>

#include "comm/mpi/world.hpp"
#include "tensor/buffer.hpp"

namespace {

using namespace dt;

constexpr int rounds = 9;

/// Of the slowest rank.
double time_s(const std::function<void()>& body) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  body();
  double took = MPI_Wtime() - start, slowest = 0;
  MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void row(const std::string& what, double measured, double at_least, const std::string& note) {
  fmt::print("{:<58} {:>7.3f}   ≥ {:<5.3f} {}  {}\n", what, measured, at_least,
             measured >= at_least ? "reached" : "MISSED ", note);
  std::fflush(stdout);
}

Tensor floats(std::vector<Buffer>& buffers, std::int64_t count) {
  buffers.emplace_back(Device(), static_cast<std::size_t>(count) * sizeof(float));
  const Tensor tensor(buffers.back().data(), DType::f32, {count});
  std::ranges::fill(tensor.span<float>(), 1.0F);
  return tensor;
}

void triad(const Tensor& a, const Tensor& b, const Tensor& c) {
  float* to = a.data<float>();
  const float *left = b.data<float>(), *right = c.data<float>();
#pragma GCC ivdep
  for (std::int64_t i = 0; i < a.numel(); ++i) to[i] = left[i] + 3.0F * right[i];
}

struct Times {
  std::vector<double> copy, triad, dt_in_place, dt_apart, mpi_in_place, mpi_apart;
};

Times measure(comm::mpi::World& world, std::int64_t count) {
  comm::Communicator& group = world.communicator();
  comm::mpi::Collectives& theirs = world.collectives();
  std::vector<Buffer> buffers;
  const Tensor a = floats(buffers, count), b = floats(buffers, count), c = floats(buffers, count);
  Times times;
  const auto sum = comm::Reduction::sum;
  for (int round = -1; round < rounds; ++round) {
    if (round == 0) times = {};  // the first was for warming up
    times.copy.push_back(time_s([&] { std::memcpy(a.raw(), b.raw(), b.bytes()); }));
    times.triad.push_back(time_s([&] { triad(a, b, c); }));
    times.dt_in_place.push_back(time_s([&] { group.all_reduce(a, a, sum).wait(); }));
    times.mpi_in_place.push_back(time_s([&] { theirs.all_reduce(a, a, sum); }));
    times.dt_apart.push_back(time_s([&] { group.all_reduce(b, a, sum).wait(); }));
    times.mpi_apart.push_back(time_s([&] { theirs.all_reduce(b, a, sum); }));
  }
  return times;
}

void report(std::int64_t count, int num_ranks, const Times& times) {
  const double array_bytes = 4.0 * static_cast<double>(count) * num_ranks;
  const double streaming =
      std::max(2 * array_bytes / median(times.copy), 3 * array_bytes / median(times.triad));
  const std::string what = fmt::format("all-reduce of {} MiB, {} ranks", count >> 18, num_ranks);
  for (const bool in_place : {true, false}) {
    const double dt_s = median(in_place ? times.dt_in_place : times.dt_apart);
    const double mpi_s = median(in_place ? times.mpi_in_place : times.mpi_apart);
    const std::string name = what + (in_place ? ", in place" : "");
    row(name + ": rate ÷ streaming", 2 * array_bytes / dt_s / streaming, 0.7,
        fmt::format("{:.1f} of {:.1f} GB/s, {:.1f} ms", 2e-9 * array_bytes / dt_s, streaming * 1e-9,
                    dt_s * 1e3));
    row(name + ": MPI's time ÷ dt's", mpi_s / dt_s, 1.5,
        fmt::format("{:.1f} ms ÷ {:.1f} ms", mpi_s * 1e3, dt_s * 1e3));
  }
}

}  // namespace

int main() {
  comm::mpi::World world;
  comm::Communicator& group = world.communicator();
  for (const std::int64_t mebibytes : {64, 128, 256}) {
    const std::int64_t count = mebibytes << 18;
    const Times times = measure(world, count);
    if (group.rank() == 0) report(count, group.size(), times);
  }
}
