// Measures what a bound on the bytes in flight costs. Under mpirun or srun, all-reduces by messages run for
// several buckets by turns: one of 64 MiB, and four of 16 MiB at once. With an argument, ranks of one host
// send messages, too.
#include <algorithm>
#include <array>
#include <mpi.h>
#include <vector>

#include "comm/mpi/transport.hpp"
#include "comm/mpi/world.hpp"
#include "tensor/buffer.hpp"

namespace {

using namespace dt;

constexpr int rounds = 5;
constexpr std::array<std::size_t, 6> buckets_mib = {1, 4, 16, 64, 256, 0};

/// Returns the slowest rank's time.
template <class Body>
double time_s(const Body& body) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  body();
  double took = MPI_Wtime() - start, slowest = 0;
  MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(comm::Communicator& group, int num_operations) {
  const std::int64_t count = std::int64_t{16} << 20;
  const Buffer buffer(Device::host(), static_cast<std::size_t>(count) * sizeof(float));
  const Tensor all(buffer, DType::f32, {count});
  const std::int64_t part = count / num_operations;
  std::array<std::vector<double>, buckets_mib.size()> times;
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < buckets_mib.size(); ++i) {
      group.set_bucket_bytes(buckets_mib[i] << 20);
      const double took = time_s([&] {
        std::vector<comm::Work> works;
        for (int n = 0; n < num_operations; ++n) {
          const Tensor data = all.flat(n * part, part);
          works.push_back(group.all_reduce(data, data));
        }
        for (const comm::Work& work : works) work.wait_host();
      });
      if (round >= 0) times[i].push_back(took);
    }
  }
  for (std::size_t i = 0; group.rank() == 0 && i < buckets_mib.size(); ++i) {
    fmt::print("{} x {} MiB, {} ranks, bucket {:>3} MiB: {:>7.1f} ms\n", num_operations, 64 / num_operations,
               group.size(), buckets_mib[i], median(times[i]) * 1e3);
  }
}

}  // namespace

int main(int argc, char** /*argv*/) {
  comm::mpi::World world;
  MPI_Comm everyone = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &everyone);
  const int rank = world.communicator().rank();
  comm::Communicator group(std::make_unique<comm::mpi::MpiTransport>(everyone, false),
                           std::make_shared<comm::Engine>(std::make_shared<comm::Recorder>()), "bench",
                           argc > 1 ? fmt::format("n{}", rank) : host_name());
  for (const int num_operations : {1, 4}) measure(group, num_operations);
}
