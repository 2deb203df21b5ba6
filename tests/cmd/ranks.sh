# Sourced by cases that train with several ranks.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/training.sh"

# How the MPI of the tools starts ranks. Open MPI refuses root and more ranks than cores unless told that both are meant; its ranks may
# share cores here. A launcher would read what the case's loops read.
launch=("${DT_MPIEXEC:-mpirun}")
if [[ ${DT_MPI:-openmpi} == openmpi ]]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  launch+=(--oversubscribe --bind-to none)
fi
mpi() { "${launch[@]}" -n "$@" </dev/null; }

# train_as KIND RUN [options]: KIND is threads=N or mpi=N.
train_as() {
  local kind=$1
  shift
  case $kind in
    mpi=*)
      arguments "$@"
      mpi "${kind#mpi=}" dt-train "${train_args[@]}"
      ;;
    *) train "$@" --comm "$kind" ;;
  esac
}

# start_ranks N RUN [options]: in the background, as process $launcher.
start_ranks() {
  local ranks=$1
  shift
  arguments "$@"
  "${launch[@]}" -n "$ranks" dt-train "${train_args[@]}" >launcher.out 2>launcher.err &
  # shellcheck disable=SC2034
  launcher=$! # for the case
}

# ranks_of PID [NAME]: the processes of dt-train that a launcher started, by itself or, as MPICH's does, through a proxy.
ranks_of() { pgrep -P "$(printf '%s,' "$1" $(pgrep -P "$1"))$1" -x "${2:-dt-train}" || true; }
