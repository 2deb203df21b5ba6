#pragma once
// A barrier of all ranks that the launcher makes, and not MPI.

#include <string_view>

namespace dt::comm::mpi {

/// Returns whether ranks of the library with this version text must meet before MPI_Finalize: MPICH 4.0
/// to 4.2 over UCX. In MPI_Finalize it closes its connections, and over TCP each rank waits for its peers'
/// answers. A rank whose answers have come enters a barrier in which it reads no messages. It must not come
/// there before a peer has asked. Source: MPICH's pull request 6596; 4.3 has a barrier at the begin of
/// MPI_Finalize.
bool must_meet_to_finalize(std::string_view full_version);

/// Waits until all ranks are here, if the loaded library needs it. Meanwhile this rank reads no messages, so
/// that none can get to the end of its MPI_Finalize before all have begun theirs. Collective: all ranks,
/// right before MPI_Finalize.
void meet_to_finalize();

}  // namespace dt::comm::mpi
