# shellcheck shell=bash
# Sourced by the benchmarks that start ranks: how the MPI that dt-train is linked with does. --bind-to none and core mean the same to both.
# shellcheck disable=SC2034 # for them
if [[ $(ldd "$(command -v dt-train)") =~ libmpi[a-z0-9_]*\.so\.12 ]]; then # MPICH's ABI
  launch=("$(command -v mpiexec.mpich || command -v mpiexec)") share_cores=() mpi_option=--mpi=pmi2
else
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  launch=(mpirun) share_cores=(--oversubscribe) mpi_option=--mpi=pmix
fi
