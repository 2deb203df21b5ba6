#!/usr/bin/env bash
# What the environment says of how ranks talk is kept with each start, and told where ranks differ.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards
arguments run --steps 1 --quiet

export MY_TOKEN=secret NCCL_SOCKET_IFNAME=eth0
expect_exit 0 mpi 1 env NCCL_IB_HCA=mlx5_0 CUDA_VISIBLE_DEVICES=0 dt-train "${train_args[@]}" : \
  -n 1 env CUDA_VISIBLE_DEVICES=1 dt-train "${train_args[@]}"
expect_match stderr "warning: NCCL_IB_HCA differs: 'mlx5_0' on $(hostname) \(rank 0\), unset on $(hostname) \(rank 1\); "
expect_equal "$(grep -c differs stderr)" 1 "variables that differ and should not"
expect_match run/generations/0001.json '"NCCL_IB_HCA": "mlx5_0"'
expect_match run/generations/0001.json '"NCCL_SOCKET_IFNAME": "eth0"'
! grep -qE 'secret|OMPI_MCA_orte|OMPI_MCA_ess' run/generations/0001.json || fail "private settings are recorded"

# The next start, of one rank, reads that file and keeps its own.
unset NCCL_SOCKET_IFNAME
expect_exit 0 train run --steps 2
! grep -q differs stderr || fail "one rank differs from itself"
expect_match run/generations/0002.json '"environment": \{'
! grep -q NCCL_ run/generations/0002.json || fail "the second start keeps the first's environment"

# A cgroup's quota of processor time bounds the default number of threads; OMP_NUM_THREADS does not change it, which is said.
# with_quota COMMAND...: half a processor, as version 1 or 2 has it.
with_quota() {
  # shellcheck disable=SC2016
  unshare --mount bash -c 'mount -t tmpfs none /sys/fs/cgroup && cd /sys/fs/cgroup && mkdir cpu cpu,cpuacct unified &&
    for v1 in cpu cpu,cpuacct; do echo 50000 >"$v1/cpu.cfs_quota_us" && echo 100000 >"$v1/cpu.cfs_period_us" || exit; done &&
    echo 50000 100000 | tee cpu.max >unified/cpu.max && cd "$OLDPWD" && exec "$@"' bash "$@"
}
args=(--run quota --model llama-tiny --data shards --sequence-length 32 --steps 1 --peak-flops 1e9 --eval-batches 1)
if [[ $(nproc) -gt 1 ]] && with_quota true 2>/dev/null; then
  expect_exit 0 with_quota env OMP_NUM_THREADS=7 dt-train "${args[@]}"
  expect_match stderr '1 rank of 1 thread on 1 host'
  expect_match stderr 'OMP_NUM_THREADS=7 is ignored: 1 thread is used; --threads sets the number'
  expect_exit 0 with_quota env OMP_NUM_THREADS=7 dt-train "${args[@]}" --resume never --threads 2
  expect_match stderr '1 rank of 2 threads on 1 host'
  ! grep -q OMP_NUM_THREADS stderr || fail "what --threads says is not OMP_NUM_THREADS's"
fi
