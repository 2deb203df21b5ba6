#pragma once
// The MPI library that is loaded, and the launcher that started this process, as the environment shows
// it. Everything here works before MPI is initialized.

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace dt::comm::mpi {

/// Returns all that the loaded library says about itself. MPICH's text also has its device and its
/// configuration.
std::string full_library_version();

/// Returns "Open MPI v4.1.4, ...", "MPICH 4.0.2" or what else the loaded library calls itself.
std::string library_version();

/// The launchers of one MPI library's ranks.
struct Launching {
  std::string_view library;      // its name, as part of its version
  std::string_view srun_option;  // "--mpi=pmix"
  std::string_view command;      // its own launcher
  std::string_view srun_needs;   // "" or a setting that srun also takes
};

/// Returns how ranks of a library with this version text are started.
const Launching& launching_of(std::string_view version);

/// Returns how ranks of the loaded library are started. It is asked at run time, since a program that was
/// built with MPICH also runs with MPIs derived from it: they share an ABI.
const Launching& launching();

/// Returns whether a launcher that the loaded MPI understands, or srun with several tasks, started this
/// process.
bool is_launched();

/// Returns the number of ranks that the launcher says it started; 1 if there is none.
int num_announced_ranks();

/// Returns whether MPI_Init of the loaded library would end the process, since it finds no launcher of its
/// own where another one started several ranks. The other libraries start as jobs of one rank there.
bool would_not_start();

/// Returns the error of a rank whose MPI does not see the ranks that were started with it, with the
/// remedy. `to_work_alone`: see World.
Error launcher_mismatch(const std::string& to_work_alone);

}  // namespace dt::comm::mpi
