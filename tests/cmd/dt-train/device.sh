#!/usr/bin/env bash
# --device where there is no GPU, or none may be seen.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards
export CUDA_VISIBLE_DEVICES=

expect_exit 2 train run --steps 2 --device gpu
expect_match stderr "auto, cpu, cuda"
expect_exit 2 train run --steps 2 --device cuda --precision bf16 --matmul amx
expect_match stderr "use --matmul auto, or fp32 or tf32 with --precision fp32"
for device in cpu auto; do
  expect_exit 2 train run --steps 2 --device $device --matmul tf32
  expect_match stderr "--matmul tf32 is for fp32 on GPUs, but --device $device computes on "
done
expect_exit 2 train run --steps 2 --device cpu --matmul tf32 --dry-run
for device in cpu cuda; do
  expect_exit 2 train run --steps 2 --device $device --matmul tf32 --precision bf16
done
expect_match stderr "needs --precision fp32"
expect_exit 4 train run --steps 2 --device cuda
expect_match stderr 'rank 0 on .*: (this program was built without CUDA|there is no NVIDIA driver|CUDA_VISIBLE_DEVICES)'
expect_exit 4 train run --steps 2 --device cuda --comm threads=2
expect_exit 4 train run --steps 2 --device cuda --dry-run
expect_exit 4 dt-train --model llama-tiny --data shards --steps 2 --device cuda --compare-layouts "dp=1"
expect_absent run
expect_exit 0 train run --steps 2
expect_match stderr 'computing on the CPU: '
expect_exit 0 train run --steps 3 --device cpu
if grep "computing on" stderr; then fail "says what was asked for"; fi

# The tools start where nothing of CUDA is.
for tool in dt-train dt-allreduce-bench; do
  if ldd "$(command -v $tool)" | grep -E 'libcuda|libcudart|libcublas|libcudnn'; then fail "$tool is linked to CUDA"; fi
done
