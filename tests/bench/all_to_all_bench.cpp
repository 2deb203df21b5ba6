// Measures, under mpirun on one host, dt's all_to_all of uneven parts beside MPI_Alltoallv and beside a
// plain loop of non-blocking sends and receives. Short rounds of the two follow each other in one process,
// and the fastest round of each counts: others are disturbed, the more so with more ranks than cores. Small
// parts: time ÷ MPI's. Large parts: bandwidth ÷ MPI's, and ÷ the loop's.
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <functional>
#include <mpi.h>
#include <string>
#include <vector>

#include "comm/mpi/world.hpp"

namespace {

using namespace dt;

constexpr int least_rounds = 200;
constexpr double least_s = 1;

/// The parts that every rank gives every other: 2/3, 1 or 4/3 of `bytes`.
struct Exchange {
  std::vector<int> in_counts, out_counts, in_begins, out_begins;
  std::vector<std::int64_t> in_counts_64, out_counts_64;
  std::vector<std::byte> in, out;

  Exchange(int rank, int size, std::int64_t bytes) {
    const auto count_of = [&](int from, int to) {
      return static_cast<int>(bytes * (2 + (from + to) % 3) / 3);
    };
    int in_bytes = 0, out_bytes = 0;
    for (int peer = 0; peer < size; ++peer) {
      in_begins.push_back(in_bytes);
      out_begins.push_back(out_bytes);
      in_bytes += in_counts.emplace_back(count_of(rank, peer));
      out_bytes += out_counts.emplace_back(count_of(peer, rank));
    }
    in_counts_64.assign(in_counts.begin(), in_counts.end());
    out_counts_64.assign(out_counts.begin(), out_counts.end());
    in.assign(static_cast<std::size_t>(in_bytes), std::byte(rank));
    out.assign(static_cast<std::size_t>(out_bytes), std::byte{});
  }
};

Tensor view_of(std::vector<std::byte>& bytes) {
  return {bytes.data(), DType::u8, {std::ssize(bytes)}, Device::host()};
}

void call_mpi(Exchange& e) {
  MPI_Alltoallv(e.in.data(), e.in_counts.data(), e.in_begins.data(), MPI_BYTE, e.out.data(),
                e.out_counts.data(), e.out_begins.data(), MPI_BYTE, MPI_COMM_WORLD);
}

void call_loop(Exchange& e, int rank, int size) {
  std::vector<MPI_Request> requests;
  for (int distance = 1; distance < size; ++distance) {
    const auto from = static_cast<std::size_t>((rank - distance + size) % size);
    MPI_Irecv(e.out.data() + e.out_begins[from], e.out_counts[from], MPI_BYTE, static_cast<int>(from), 0,
              MPI_COMM_WORLD, &requests.emplace_back());
  }
  for (int distance = 1; distance < size; ++distance) {
    const auto to = static_cast<std::size_t>((rank + distance) % size);
    MPI_Isend(e.in.data() + e.in_begins[to], e.in_counts[to], MPI_BYTE, static_cast<int>(to), 0,
              MPI_COMM_WORLD, &requests.emplace_back());
  }
  const auto own = static_cast<std::size_t>(rank);
  std::copy_n(e.in.data() + e.in_begins[own], e.in_counts[own], e.out.data() + e.out_begins[own]);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

/// Returns the slowest rank's time of a call.
double time_s(const std::function<void()>& call, int iterations) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) call();
  double took = (MPI_Wtime() - start) / iterations, slowest = 0;
  MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/// The fastest times of two calls, over many short rounds in turn.
struct Fastest {
  double base_s = 1e9, dt_s = 1e9;
  double ratio() const { return dt_s / base_s; }
};
Fastest beside(const std::function<void()>& base, const std::function<void()>& measured, int iterations) {
  time_s(base, iterations), time_s(measured, iterations);
  Fastest fastest;
  double spent_s = 0;
  for (int round = 0; round < least_rounds || spent_s < least_s; ++round) {
    const double base_s = time_s(base, iterations), dt_s = time_s(measured, iterations);
    fastest = {std::min(fastest.base_s, base_s), std::min(fastest.dt_s, dt_s)};
    spent_s += (base_s + dt_s) * iterations;
  }
  return fastest;
}

void row(const std::string& what, double value, const char* relation, double bound, bool is_reached,
         double dt_s) {
  fmt::print("{:<66} {:>7.3f}  {} {:<5.2f} {}  dt {:.2f} us\n", what, value, relation, bound,
             is_reached ? "reached" : "MISSED ", dt_s * 1e6);
  std::fflush(stdout);
}

void measure(comm::Communicator& group, std::int64_t bytes) {
  constexpr std::int64_t most_small = 4 << 10, least_large = 1 << 20;
  const int rank = group.rank(), size = group.size();
  Exchange e(rank, size, bytes);
  const int iterations = static_cast<int>(std::clamp<std::int64_t>((1 << 20) / bytes, 1, 50));
  const auto dt_call = [&] {
    group.all_to_all(view_of(e.in), view_of(e.out), e.in_counts_64, e.out_counts_64).wait_host();
  };
  const std::string name = fmt::format("all_to_all of {} bytes a part, {} ranks: ", bytes, size);
  const Fastest of_mpi = beside([&] { call_mpi(e); }, dt_call, iterations);
  if (bytes <= most_small && rank == 0)
    row(name + "time ÷ MPI_Alltoallv's", of_mpi.ratio(), "≤", 1.05, of_mpi.ratio() <= 1.05, of_mpi.dt_s);
  if (bytes < least_large) return;
  const Fastest of_loop = beside([&] { call_loop(e, rank, size); }, dt_call, iterations);
  if (rank != 0) return;
  row(name + "bandwidth ÷ MPI_Alltoallv's", 1 / of_mpi.ratio(), "≥", 0.95, 1 / of_mpi.ratio() >= 0.95,
      of_mpi.dt_s);
  row(name + "bandwidth ÷ a plain loop's", 1 / of_loop.ratio(), "≥", 0.95, 1 / of_loop.ratio() >= 0.95,
      of_loop.dt_s);
}

}  // namespace

int main() {
  comm::mpi::World world;
  for (const std::int64_t bytes : {8, 512, 4096, 1 << 20, 4 << 20}) measure(world.communicator(), bytes);
}
