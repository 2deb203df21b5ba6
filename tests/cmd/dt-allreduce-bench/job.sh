#!/usr/bin/env bash
# What the jobs ask of srun, which is played.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
mkdir bin
cat >bin/srun <<'SCRIPT'
#!/bin/sh
echo "srun $*; NCCL_IB_HCA=$NCCL_IB_HCA"
SCRIPT
cat >bin/ldd <<'SCRIPT'
#!/bin/sh
echo "	${library:-libmpi.so.40} => /opt/mpi/lib/${library:-libmpi.so.40} (0x0)"
SCRIPT
chmod +x bin/srun bin/ldd
export PATH=$PWD/bin:$PATH SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=2 SLURM_NTASKS_PER_NODE=1 NCCL_IB_HCA=mlx5
unset "${!SLURM_GPU@}" "${!SLURM_TRES@}" DT_SRUN DT_TRAIN_ARGS DT_LAYOUTS SLURM_CPUS_ON_NODE SLURM_CPUS_PER_TASK DT_BENCH_ARGS DT_BIN

# asks "SRUN'S ARGUMENTS" [the job's]
asks() {
  expect_exit 0 bash "$DT_TESTS/../jobs/bench.sbatch" "${@:2}"
  expect_equal "$(cat stdout)" "srun --mpi=${mpi:-pmix} $1; NCCL_IB_HCA=mlx5"
}
asks "dt-allreduce-bench -o all" -o all
DT_BENCH_ARGS=$'-e 8\n-n 1' asks "dt-allreduce-bench -e 8 -n 1 -o all" -o all
expect_exit 2 bash "$DT_TESTS/../jobs/bench.sbatch" --gpus
expect_match stderr "--gpus: this job has no GPUs; .*sbatch --gpus-per-node=N"

# The MPI of the tools says how srun connects their ranks: Open MPI, MPICH as Debian and others call it, Intel MPI, Cray MPICH.
while read -r library mpi; do
  library=$library mpi=$mpi asks "dt-allreduce-bench -o all" -o all
  for job in train prove; do
    library=$library expect_exit 0 bash "$DT_TESTS/../jobs/$job.sbatch" --steps 1
    expect_match stdout "^srun --mpi=$mpi .*dt-train "
  done
done <<'LIBRARIES'
libmpi.so.40 pmix
libmpi.so.12 pmi2
libmpich.so.12 pmi2
libmpi_gnu_91.so.12 cray_shasta
LIBRARIES
unset library mpi

# A task for each GPU with its share of the cores, each of which sees all; or as many as are asked for.
export SLURM_GPUS_ON_NODE=4 SLURM_CPUS_ON_NODE=18
tool="dt-allreduce-bench --device cuda --devices --pairs"
asks "dt-allreduce-bench -o all" -o all
tasks="--ntasks=8 --ntasks-per-node=4 --cpus-per-task=4"
asks "$tasks $tool -e 8" --gpus -e 8
SLURM_CPUS_ON_NODE=2 DT_BENCH_ARGS="-n 1" asks "--ntasks=8 --ntasks-per-node=4 --cpus-per-task=1 $tool -n 1" --gpus
SLURM_NTASKS_PER_NODE=2 asks "$tool" --gpus
SLURM_NTASKS_PER_NODE=8 asks "$tool" --gpus
[[ ! -s stderr ]] || fail "something is said on stderr"

# What the site says of binding wins: a warning tells it, unless tasks see all GPUs anyway.
# warns "WHAT BINDS" "SRUN'S ARGUMENTS"
warns() {
  asks "$2" --gpus
  expect_equal "$(cut -d: -f-"$(($(tr -dc : <<<"$1" | wc -c) + 2))" stderr)" "warning: $1"
}
SLURM_GPU_BIND=single:1 warns SLURM_GPU_BIND=single:1 "$tasks $tool"
SLURM_TRES_BIND=gres/gpu:per_task:1 warns SLURM_TRES_BIND=gres/gpu:per_task:1 "$tasks $tool"
SLURM_NTASKS_PER_NODE=4 SLURM_GPUS_PER_TASK=1 warns --gpus-per-task=1 "$tool"
DT_SRUN="-l --gpu-bind=map_gpu:0,1" warns "--gpu-bind=map_gpu:0,1" "$tasks -l --gpu-bind=map_gpu:0,1 $tool"
DT_SRUN="--gpus-per-task 1" warns "--gpus-per-task 1" "$tasks --gpus-per-task 1 $tool"
DT_SRUN="--tres-per-task=gres/gpu:1" warns "--tres-per-task=gres/gpu:1" "$tasks --tres-per-task=gres/gpu:1 $tool"
SLURM_GPU_BIND=none asks "$tasks $tool" --gpus
SLURM_NTASKS_PER_NODE=4 SLURM_GPUS_PER_TASK=1 SLURM_GPU_BIND=none asks "$tool" --gpus
SLURM_GPU_BIND=single:1 DT_SRUN=--gpu-bind=verbose,none asks "$tasks --gpu-bind=verbose,none $tool" --gpus
DT_SRUN="--tres-per-task=cpu:2 -l" asks "$tasks --tres-per-task=cpu:2 -l $tool" --gpus
[[ ! -s stderr ]] || fail "something is said on stderr"

# The other jobs go by the same.
for job in train prove; do
  expect_exit 0 bash "$DT_TESTS/../jobs/$job.sbatch" --steps 1
  expect_match stdout "^srun --mpi=pmix (--kill-on-bad-exit=0 --wait=8 )?$tasks dt-train "
  [[ ! -s stderr ]] || fail "$job: something is said on stderr"
  SLURM_GPU_BIND=single:1 expect_exit 0 bash "$DT_TESTS/../jobs/$job.sbatch" --steps 1
  expect_match stdout "^srun --mpi=pmix (--kill-on-bad-exit=0 --wait=8 )?$tasks dt-train "
  expect_match stderr "^warning: SLURM_GPU_BIND=single:1: "
done
