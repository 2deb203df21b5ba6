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
! grep -qE 'secret|OMPI_MCA_orte|OMPI_MCA_ess' run/generations/0001.json || fail "what is nobody's business is kept"

# The next start, of one rank, reads that file and keeps its own.
unset NCCL_SOCKET_IFNAME
expect_exit 0 train run --steps 2
! grep -q differs stderr || fail "one rank differs from itself"
expect_match run/generations/0002.json '"environment": \{'
! grep -q NCCL_ run/generations/0002.json || fail "the second start keeps the first's environment"
