#pragma once

#include <mpi.h>

#include "comm/mpi/collectives.hpp"

namespace dt::comm::mpi {

struct Collectives::CollectivesState {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
};

}  // namespace dt::comm::mpi
