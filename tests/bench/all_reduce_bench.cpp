// Measures, under mpirun on one host, how near dt's all-reduce of gradients that do not fit the caches
// comes to the memory's speed. The all-reduce is measured beside streaming by all ranks at once, and beside
// the MPI library's own all-reduce. Memory that others share changes its speed from second to second. So
// each measurement is divided by the mean of its neighbours in time, a b a b … a, and the median of these
// ratios counts.
//
// Bytes touched: with n ranks each rank's input is read once and each rank's output written once, 2nN for N
// bytes. All else that passes between ranks should stay in the caches. Streaming: the faster of a copy,
// which touches two arrays, and a triad (McCalpin 1995), which touches three.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mpi.h>
#include <vector>

#include "comm/mpi/collectives.hpp"
#include "comm/mpi/world.hpp"
#include "tensor/buffer.hpp"

namespace {

using namespace dt;

constexpr int least_pairs = 9;
constexpr double least_s = 3;

/// Returns the slowest rank's time.
double time_s(const std::function<void()>& body) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  body();
  double took = MPI_Wtime() - start, slowest = 0;
  MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/// Ratios in ascending order.
using Ratios = std::vector<double>;

double quantile(const Ratios& ratios, double q) {
  return ratios[static_cast<std::size_t>(q * static_cast<double>(ratios.size() - 1))];
}

/// A measurement that returns a rate. All ranks get the same rates, so they stop together.
using Measure = std::function<double()>;
Ratios rates_beside(const Measure& base, const Measure& measured) {
  base();
  measured();
  Ratios ratios;
  double before = base();
  for (double spent_s = 0; std::ssize(ratios) < least_pairs || spent_s < least_s;) {
    double rate = 0, after = 0;
    spent_s += time_s([&] {
      rate = measured();
      after = base();
    });
    ratios.push_back(2 * rate / (before + after));
    before = after;
  }
  std::sort(ratios.begin(), ratios.end());
  return ratios;
}

void row(const std::string& what, const Ratios& ratios, double at_least) {
  const double median = quantile(ratios, 0.5);
  fmt::print("{:<58} {:>7.3f}   ≥ {:<5.3f} {}  {} pairs, half of them {:.3f} to {:.3f}\n", what, median,
             at_least, median >= at_least ? "reached" : "MISSED ", ratios.size(), quantile(ratios, 0.25),
             quantile(ratios, 0.75));
  std::fflush(stdout);
}

Tensor floats(std::vector<Buffer>& buffers, std::int64_t count) {
  buffers.emplace_back(Device::host(), static_cast<std::size_t>(count) * sizeof(float));
  const Tensor tensor(buffers.back(), DType::f32, {count});
  std::ranges::fill(tensor.span<float>(), 1.0F);
  return tensor;
}

void triad(const Tensor& a, const Tensor& b, const Tensor& c) {
  float* to = a.data<float>();
  const float *left = b.data<float>(), *right = c.data<float>();
#pragma GCC ivdep
  for (std::int64_t i = 0; i < a.numel(); ++i) to[i] = left[i] + 3.0F * right[i];
}

void measure(comm::mpi::World& world, std::int64_t count) {
  comm::Communicator& group = world.communicator();
  comm::mpi::Collectives& theirs = world.collectives();
  std::vector<Buffer> buffers;
  const Tensor a = floats(buffers, count), b = floats(buffers, count), c = floats(buffers, count);
  const double array_bytes = 4.0 * static_cast<double>(count) * group.size();
  const auto sum = comm::Reduction::sum;
  const Measure streaming = [&] {
    const double copy_s = time_s([&] { std::memcpy(a.raw(), b.raw(), b.bytes()); });
    const double triad_s = time_s([&] { triad(a, b, c); });
    return std::max(2 * array_bytes / copy_s, 3 * array_bytes / triad_s);
  };
  for (const bool in_place : {true, false}) {
    const Tensor& in = in_place ? a : b;
    const Measure dt_rate = [&] {
      return 2 * array_bytes / time_s([&] { group.all_reduce(in, a, sum).wait_host(); });
    };
    const Measure mpi_rate = [&] {
      return 2 * array_bytes / time_s([&] {
               theirs.run({.kind = comm::OperationKind::all_reduce, .in = in, .out = a, .reduction = sum});
             });
    };
    const Ratios of_streaming = rates_beside(streaming, dt_rate), of_mpi = rates_beside(mpi_rate, dt_rate);
    if (group.rank() > 0) continue;
    const std::string name = fmt::format("all-reduce of {} MiB, {} ranks{}", count >> 18, group.size(),
                                         in_place ? ", in place" : "");
    row(name + ": rate ÷ streaming", of_streaming, 0.7);
    row(name + ": rate ÷ MPI's", of_mpi, 1.5);
  }
}

}  // namespace

int main() {
  comm::mpi::World world;
  for (const std::int64_t mebibytes : {64, 256}) measure(world, mebibytes << 18);
}
