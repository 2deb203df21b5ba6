#pragma once
// What the environment says of how ranks talk and compute, for a run's account of itself.

#include <map>
#include <string>

#include "comm/ranks.hpp"

namespace dt::comm {

using EnvironmentSettings = std::map<std::string, std::string>;

/// Of this process: NCCL's variables, UCX's, libfabric's, OpenMP's, Open MPI's parameters, CUDA's of devices
/// and how Slurm binds GPUs. No others, as there are secrets among them; nor what mpirun tells its processes
/// in parameters of its own.
EnvironmentSettings environment_settings();

/// What `own` has otherwise than `first`, and as what: "'eth0'", "unset". What is a rank's own, such as the
/// GPU that it may see, may differ.
EnvironmentSettings settings_that_differ(const EnvironmentSettings& first, const EnvironmentSettings& own);

/// Called by all ranks together: warns of each variable that another rank has otherwise than rank 0.
void warn_of_other_settings(const Ranks& ranks);

}  // namespace dt::comm
