#!/usr/bin/env bash
# Slurm connects MPICH's ranks by PMI-2: a step by hand, and the job scripts, which see what the tools are linked with. Another --mpi is
# refused with the one to give.
source "$(dirname "${BASH_SOURCE[0]}")/../slurm/lib.sh"
make_shards shards
job_options 20
undisturbed whole
expect_exit 0 on_login srun --mpi=pmi2 -N2 -n2 dt-train --quiet --data shards --run step "${options[@]}"
expect_same_model whole step
for other in pmix none; do
  expect_exit 4 on_login srun "--mpi=$other" -N2 -n2 dt-train --data shards --run strangers "${options[@]}"
  expect_match stderr 'srun started 2 tasks, but MPI sees each as a job of one rank; MPICH [0-9.]+ needs srun --mpi=pmi2'
done
expect_exit 4 on_login srun --mpi=pmi2 -N2 -n2 "$DT_BUILD/bin/dt-train" --data shards --run strangers "${options[@]}"
expect_match stderr 'Open MPI .* needs srun --mpi=pmix'
expect_absent strangers
job=$(submit_training "$case_dir/job" 2)
wait_for_job "$job" 60
expect_same_model whole job
