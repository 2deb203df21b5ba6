#pragma once
// Turns MPI's error codes into dt's errors.

#include <mpi.h>
#include <string>

#include "base/error.hpp"

namespace dt::comm::mpi {

/// Returns MPI's words for one of its error codes.
std::string words_of(int code);

/// Throws if an MPI call failed.
/// Errors: environment, "MPI cannot <action>: <MPI's words>".
inline void check(int code, const char* action) {
  if (code != MPI_SUCCESS) throw environment_error("MPI cannot {}: {}", action, words_of(code));
}

}  // namespace dt::comm::mpi
