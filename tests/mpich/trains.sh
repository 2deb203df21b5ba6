#!/usr/bin/env bash
# Under MPICH ranks find each other, train with the bits of one rank and of Open MPI's ranks, and end together; what the tools' MPI
# cannot do is refused by name.
source "$(dirname "${BASH_SOURCE[0]}")/../cmd/lost_ranks.sh"
make_shards shards
openmpi=$DT_BUILD/bin/dt-train
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun_of_openmpi() { mpirun --oversubscribe --bind-to none -n "$@" </dev/null; }

# Messages, sums in the order of lanes, and weights that are divided.
common=(--quiet --steps 12 --grad-lanes 4 --save-every 8 --zero 1)
train one "${common[@]}" >/dev/null || fail "one rank"
expect_exit 0 train_as mpi=2 two "${common[@]}"
arguments theirs "${common[@]}"
# shellcheck disable=SC2154 # set by arguments
expect_exit 0 mpirun_of_openmpi 2 "$openmpi" "${train_args[@]}"
for run in two theirs; do
  expect_same_model one "$run"
  expect_equal "$(losses "$run")" "$(losses one)" "losses of $run"
done
expect_equal "$(find two/checkpoints/step-00000012.g1 -name 'rank-*.h5' | wc -l)" 2 "files of a checkpoint"
# Either MPI resumes from what the other saved.
expect_exit 0 train_as mpi=2 theirs "${common[@]}" --steps 16
expect_exit 0 train one "${common[@]}" --steps 16
expect_same_model one theirs

# The measuring tool names the library, and measures its collectives as its own.
expect_exit 0 mpi 2 dt-allreduce-bench -o all -b 8 -e 4Ki -f 8 -n 2 -w 1 --backend mpi,dt
expect_match stdout 'MPICH [0-9]'
expect_match stdout 'Out of bounds values : 0 OK'

# Exit codes: what fails on all ranks is said once; a signal to one rank stops all; a rank that is lost ends all.
expect_exit 3 train_as mpi=2 failing --steps 5 --data nowhere
expect_equal "$(grep -c 'error: ' stderr)" 1 "messages"
forever=(--steps 1000000 --schedule constant --grad-lanes 4)
start 2 signal "${forever[@]}"
kill -USR1 "$(nth 2)"
expect_over "SIGUSR1 to a rank"
expect_equal "$code" 75 "exit after SIGUSR1"
start 2 killed "${forever[@]}"
kill -KILL "$(nth 2)"
expect_over "SIGKILL of a rank"
[[ $code != 0 ]] || fail "exit 0 after a killed rank"
start 2 stopped "${forever[@]}" --comm-timeout 3s
kill -STOP "$(nth 1)"
expect_over "SIGSTOP of rank 0"
expect_equal "$code" 4 "exit after SIGSTOP"
expect_match launcher.err "rank 0 on $(hostname) .*silent"
start 2 orphans "${forever[@]}"
kill -KILL "$launcher"
expect_over "SIGKILL of the launcher"

# Each MPI refuses the ranks of the other's launcher, which would each train alone.
arguments strangers --steps 2
expect_exit 4 mpirun_of_openmpi 2 "$(command -v dt-train)" "${train_args[@]}"
expect_match stderr 'a launcher of another MPI started this process; use the mpiexec of MPICH [0-9]'
expect_exit 4 mpi 2 "$openmpi" "${train_args[@]}"
expect_match stderr 'a launcher of another MPI started this process; use the mpirun of Open MPI'
expect_absent strangers
