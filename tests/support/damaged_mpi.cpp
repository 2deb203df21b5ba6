// A library that the tools' cases load before MPI's: rank 1 gets a wrong result from each
// MPI_Allreduce of 16 elements or more.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

extern "C" int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op operation,
                             MPI_Comm communicator) {
  const int code = PMPI_Allreduce(in, out, count, type, operation, communicator);
  int rank = 0, element_bytes = 0;
  PMPI_Comm_rank(communicator, &rank);
  PMPI_Type_size(type, &element_bytes);
  if (rank == 1 && count >= 16) static_cast<unsigned char*>(out)[count / 2 * element_bytes] ^= 1;
  return code;
}
