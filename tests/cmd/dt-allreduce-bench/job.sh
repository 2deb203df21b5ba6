#!/usr/bin/env bash
# What jobs/bench.sbatch asks of srun, which is played.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
mkdir bin
cat >bin/srun <<'SCRIPT'
#!/bin/sh
echo "srun $*; NCCL_IB_HCA=$NCCL_IB_HCA"
SCRIPT
chmod +x bin/srun
export PATH=$PWD/bin:$PATH SLURM_JOB_NUM_NODES=2 SLURM_NTASKS_PER_NODE=1 NCCL_IB_HCA=mlx5
unset "${!SLURM_GPU@}" SLURM_CPUS_ON_NODE SLURM_CPUS_PER_TASK DT_BENCH_ARGS DT_BIN

# asks "SRUN'S ARGUMENTS" [the job's]
asks() {
  expect_exit 0 bash "$DT_TESTS/../jobs/bench.sbatch" "${@:2}"
  expect_equal "$(cat stdout)" "srun --mpi=pmix $1; NCCL_IB_HCA=mlx5"
}
asks "dt-allreduce-bench -o all" -o all
DT_BENCH_ARGS=$'-e 8\n-n 1' asks "dt-allreduce-bench -e 8 -n 1 -o all" -o all
expect_exit 2 bash "$DT_TESTS/../jobs/bench.sbatch" --gpus
expect_match stderr "--gpus: this job has none; sbatch --gpus-per-node=N"

# A task for each GPU with its share of the cores, each bound to one; or as many as are asked for.
export SLURM_GPUS_ON_NODE=4 SLURM_CPUS_ON_NODE=18
tool="dt-allreduce-bench --device cuda --devices --pairs"
asks "dt-allreduce-bench -o all" -o all
asks "--ntasks=8 --ntasks-per-node=4 --cpus-per-task=4 --gpu-bind=per_task:1 $tool -e 8" --gpus -e 8
SLURM_CPUS_ON_NODE=2 DT_BENCH_ARGS="-n 1" asks "--ntasks=8 --ntasks-per-node=4 --cpus-per-task=1 --gpu-bind=per_task:1 $tool -n 1" --gpus
SLURM_GPU_BIND=none asks "--ntasks=8 --ntasks-per-node=4 --cpus-per-task=4 $tool" --gpus
SLURM_NTASKS_PER_NODE=2 asks "--gpu-bind=per_task:1 $tool" --gpus
SLURM_NTASKS_PER_NODE=8 asks "$tool" --gpus
