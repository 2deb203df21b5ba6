// The least program that measures MPI's operations: what dt-allreduce-bench's own cost is compared with.
// mpi_loop OPERATION MIN_BYTES MAX_BYTES ITERATIONS prints "bytes us" per power of two, of floats, the
// slowest rank's.
#include <cstdio>
#include <cstdlib>
#define OMPI_SKIP_MPICXX 1  // the C functions only
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <string>
#include <sys/mman.h>

constexpr std::size_t huge_page = 1 << 21;  // in which dt's buffers lie

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const std::string operation = argv[1];
  const long min_bytes = std::atol(argv[2]), max_bytes = std::atol(argv[3]), iterations = std::atol(argv[4]);
  const MPI_Comm world = MPI_COMM_WORLD;
  int rank = 0, size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  const auto buffer = [bytes = static_cast<std::size_t>(max_bytes) / huge_page * huge_page + huge_page] {
    void* memory = std::aligned_alloc(huge_page, bytes);
    madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<float*>(memory);
  };
  float *in = buffer(), *out = buffer();
  for (long i = 0; i < max_bytes / 4; ++i) in[i] = out[i] = 1;
  for (long bytes = min_bytes; bytes <= max_bytes; bytes *= 2) {
    const int n = static_cast<int>(bytes / 4), part = n / size;
    const auto measure = [&](auto call) {
      for (int i = 0; i < 5; ++i) call();
      MPI_Barrier(world);
      const double start = MPI_Wtime();
      for (long i = 0; i < iterations; ++i) call();
      double us = (MPI_Wtime() - start) * 1e6 / static_cast<double>(iterations), slowest = 0;
      MPI_Reduce(&us, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, world);
      // Row by row, as the tool writes: where ranks take all cores, mpirun passes it on in the next row's
      // time.
      if (rank == 0) std::printf("%ld %.4f\n", bytes, slowest), std::fflush(stdout);
    };
    if (operation == "all_reduce") measure([&] { MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, world); });
    if (operation == "broadcast") measure([&] { MPI_Bcast(rank == 0 ? in : out, n, MPI_FLOAT, 0, world); });
    if (operation == "all_gather")
      measure([&] { MPI_Allgather(in, part, MPI_FLOAT, out, part, MPI_FLOAT, world); });
    if (operation == "reduce_scatter")
      measure([&] { MPI_Reduce_scatter_block(in, out, part, MPI_FLOAT, MPI_SUM, world); });
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    if (operation == "send_receive")
      measure([&] {
        MPI_Sendrecv(in, n, MPI_FLOAT, next, 0, out, n, MPI_FLOAT, previous, 0, world, MPI_STATUS_IGNORE);
      });
  }
  MPI_Finalize();
}
