// A plain MPI program that starts, sums three times over all ranks, and ends. Exit code 1: a sum is
// wrong.

#include <mpi.h>

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool good = true;
  for (int i = 0; i < 3; ++i) {
    int sum = 0;
    const int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    good = good && sum == size;
  }
  MPI_Finalize();
  return good ? 0 : 1;
}
