#!/usr/bin/env bash
# check_environment.sh [ROOT]: lists environment variables that libcore, cmd or jobs name and the table that man pages print lacks
# (libcore/base/cli/environment.cpp), and rows of the table that nothing names. A row NAME* stands for all names that begin so.
# Exit codes: 0 clean, 1 something is listed.
set -uo pipefail

cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" || exit 2
table=libcore/base/cli/environment.cpp
roots=(libcore)
[[ -d cmd ]] && roots+=(cmd)
mapfile -t rows < <(sed -nE 's/^ *\{"([A-Z][A-Z0-9_]*\*?)".*/\1/p' "$table")

# What calls get or set a variable, by the literal that they are given.
calls='\b(secure_getenv|getenv|setenv|unsetenv|environment_variable|environment|is_set|number_in|buffer_in|channels_in)\([^")]*'
called() {
  grep -rhoE --include=*.cpp --include=*.hpp --include=*.cu --include=*.cuh "$calls\"[A-Z][A-Z0-9_]*\"" "${roots[@]}" |
    sed -E 's/.*"([A-Z0-9_]*)"$/\1/'
  if grep -rqE --include=*.cpp 'temp_directory_path' "${roots[@]}"; then echo TMPDIR; fi
}
# Other literals that begin as variables do: tables, loops over names, and beginnings ("NCCL_").
named() {
  grep -rhoE --include=*.cpp --include=*.hpp --include=*.cu --include=*.cuh --exclude="$(basename "$table")" \
    '"(CUDA|CUDNN|DT|FI|GOMP|HDF5|HYDRA|I_MPI|KMP|MPI|MPICH|MV2|NCCL|NVIDIA|OMP|OMPI|PALS|PMI|PMIX|SBATCH|SLURM|SLURMD|SRUN|UCX)_[A-Za-z0-9_]*"' \
    "${roots[@]}" | tr -d '"'
  # The table and comm/topology/environment.cpp have one name: that file holds beginnings.
  if [[ -f libcore/comm/topology/environment.cpp ]]; then grep -oE '"[A-Z0-9]+_[A-Za-z0-9_]*"' libcore/comm/topology/environment.cpp | tr -d '"'; fi
  if [[ -d jobs ]]; then
    cat jobs/*.sh jobs/*.sbatch 2>/dev/null | grep -oE '\$\{?(DT|OMPI|SLURM|SRUN|NCCL|CUDA)_[A-Z0-9_]+|\bexport( [A-Z0-9_]+=[^ ]*)+' |
      grep -oE '\b[A-Z]+_[A-Z0-9_]+'
  fi
}

# has NAME: whether a row stands for it
has() {
  local row
  for row in "${rows[@]}"; do
    # shellcheck disable=SC2053
    [[ $1 == $row || ($row == *\* && $1 == "${row%\*}") ]] && return
  done
  return 1
}

status=0
mapfile -t used < <({ called; named; } | sort -u)
for name in "${used[@]}"; do
  has "$name" || { echo "environment: $name is not in $table" && status=1; }
done
mapfile -t direct < <(called | sort -u)
for name in "${direct[@]}"; do
  grep -qxF -e "$name" -e "$name*" < <(printf '%s\n' "${rows[@]}") || { echo "environment: $name has no row of its own in $table" && status=1; }
done
for row in "${rows[@]}"; do
  grep -q "^${row%\*}" < <(printf '%s\n' "${used[@]}") || { echo "environment: nothing names $row, which is in $table" && status=1; }
done
exit "$status"
