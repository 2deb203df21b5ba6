#pragma once
// Records what the environment says of how ranks communicate and compute, for a run's account of
// itself.

#include <map>
#include <string>

#include "comm/ranks.hpp"

namespace dt::comm {

using EnvironmentSettings = std::map<std::string, std::string>;

/// Returns the settings of this process: NCCL's variables, UCX's, libfabric's, OpenMP's, Open MPI's
/// parameters, CUDA's of devices and how Slurm binds GPUs. Leaves out all others, as there are secrets
/// among them. Leaves out what mpirun tells its processes in parameters of its own.
EnvironmentSettings environment_settings();

/// Returns the settings that `own` has otherwise than `first`, with the values of `own`: "'eth0'",
/// "unset". Settings of a rank alone, such as the GPU that it may see, may differ.
EnvironmentSettings settings_that_differ(const EnvironmentSettings& first, const EnvironmentSettings& own);

/// Warns of each variable that another rank has otherwise than rank 0.
/// Collective: all ranks call it; blocks.
void warn_of_other_settings(const Ranks& ranks);

}  // namespace dt::comm
