#pragma once
// Records the environment variables that affect how ranks communicate and compute, for the run's
// report.

#include <map>
#include <string>

#include "comm/ranks.hpp"

namespace dt::comm {

using EnvironmentSettings = std::map<std::string, std::string>;

/// Returns the settings of this process: the variables of NCCL, UCX, libfabric and OpenMP, the parameters of
/// Open MPI, MPICH and MPIs derived from it, CUDA's device variables, and Slurm's GPU binding. Leaves out all
/// others, as there are secrets among them. Also leaves out the parameters by which launchers pass values to
/// their processes.
EnvironmentSettings environment_settings();

/// Returns the settings in which `own` differs from `first`, with the values of `own`: "'eth0'",
/// "unset". Leaves out settings of a single rank, such as the GPU that it may see.
EnvironmentSettings differing_settings(const EnvironmentSettings& first, const EnvironmentSettings& own);

/// Warns of each variable in which another rank differs from rank 0.
/// Collective: all ranks call it; blocks.
void warn_differing_settings(const Ranks& ranks);

}  // namespace dt::comm
