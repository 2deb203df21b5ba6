#pragma once
// A barrier of all ranks through the launcher, without MPI.

#include <string_view>

namespace dt::comm::mpi {

/// Returns whether ranks must meet before MPI_Finalize with the library of this version text: MPICH 4.0
/// to 4.2 over UCX. In MPI_Finalize that library closes its connections, and over TCP each rank waits for the
/// answers of its peers. A rank that has all answers enters a barrier in which it answers no peer. It must
/// not enter that barrier before all peers have asked.
/// Source: MPICH's pull request 6596; MPICH 4.3 has a barrier at the beginning of MPI_Finalize.
bool must_meet_to_finalize(std::string_view full_version);

/// Waits until all ranks have called this function, if the loaded library needs it. Meanwhile this rank
/// answers no peer, so that no rank can end its MPI_Finalize before all ranks have begun theirs.
/// Collective: all ranks, right before MPI_Finalize.
void meet_to_finalize();

}  // namespace dt::comm::mpi
