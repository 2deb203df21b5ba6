#!/usr/bin/env bash
# ZeRO: a run may change what its ranks divide at every start; checkpoints of any stage are those of any other.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards
common=(--quiet --grad-lanes 4 --schedule constant --warmup-steps 0)

# Four micro-batches, four ranks: every stage has the bits of one rank, and so has each checkpoint.
train one "${common[@]}" --steps 40 --save-every 10 >/dev/null || fail "one rank"
for stage in 1 2 3; do
  expect_exit 0 train_as threads=4 "zero$stage" "${common[@]}" --steps 40 --zero "$stage"
  expect_exit 0 dt-checkpoint diff --quiet one/checkpoints/step-00000040.g1 "zero$stage/checkpoints/step-00000040.g1"
done
expect_exit 0 train_as mpi=4 mpi "${common[@]}" --steps 40 --zero 3 --zero-group 2 --recompute full
expect_exit 0 dt-checkpoint diff --quiet one/checkpoints/step-00000040.g1 mpi/checkpoints/step-00000040.g1
expect_exit 0 dt-checkpoint verify --quiet mpi/checkpoints/step-00000040.g1
expect_equal "$(losses mpi)" "$(losses one)" "losses"
expect_match mpi/checkpoints/step-00000040.g1/manifest.json '"zero": *3'
grep -h '"kind":"eval"' one/metrics.jsonl >one.eval
grep -h '"kind":"eval"' mpi/metrics.jsonl >mpi.eval
cmp one.eval mpi.eval || fail "evaluations differ"

# Another stage, another number of ranks, at every start.
expect_exit 0 train_as mpi=4 changes "${common[@]}" --steps 10 --zero 3
expect_exit 0 train_as threads=2 changes "${common[@]}" --steps 20 --zero 1
expect_exit 0 train changes "${common[@]}" --steps 30
expect_exit 0 train_as threads=4 changes "${common[@]}" --steps 40 --zero 2
expect_exit 0 dt-checkpoint diff --quiet one/checkpoints/step-00000040.g1 changes/checkpoints/step-00000040.g4

# 16 bits: masters and moments divided, weights of 16 bits gathered.
train bf16 "${common[@]}" --steps 10 --precision bf16 --matmul fp32 >/dev/null || fail "bf16"
for stage in 1 3; do
  expect_exit 0 train_as threads=4 "bf16-$stage" "${common[@]}" --steps 10 --precision bf16 --matmul fp32 --zero "$stage"
  expect_exit 0 dt-checkpoint diff --quiet bf16/checkpoints/step-00000010.g1 "bf16-$stage/checkpoints/step-00000010.g1"
done

# Several micro-batches a rank sum in another order from stage 2 on, which resume says.
expect_exit 0 train_as threads=2 rounds --grad-lanes 4 --steps 5 --zero 1
expect_exit 0 train_as threads=2 rounds --grad-lanes 4 --steps 10 --zero 2
expect_match stderr 'results will not be bit-identical to the earlier run: gradient_sum "by lanes" → "by rounds of 2 ranks in groups of 2"'
expect_exit 0 train_as threads=4 rounds --grad-lanes 4 --steps 15 --zero 2 --zero-group 2 --micro-batch 1
expect_exit 0 train_as threads=4 rounds --grad-lanes 4 --steps 20 --zero 2 --zero-group all --micro-batch 1
expect_match stderr 'gradient_sum "by rounds of 4 ranks in groups of 2" → "by rounds of 4 ranks in groups of 4"'

# More ranks than micro-batches, or than windows of the evaluation: those without one still bring their part of the weights.
for stage in 1 2 3; do
  expect_exit 0 train_as threads=3 "few$stage" --quiet --steps 5 --global-batch 4 --zero "$stage"
  expect_exit 0 train_as threads=8 "many$stage" --quiet --steps 5 --zero "$stage" --recompute selective --eval-every 2 \
    --eval-batches 1 --grad-lanes 8
  expect_same_model many1 "many$stage"
done
# One rank has nothing to divide, alone or in groups of one.
train alone --quiet --steps 5 --zero 3 --grad-lanes 2 >/dev/null || fail "one rank"
expect_exit 0 train_as threads=2 ones --quiet --steps 5 --zero 2 --zero-group 1 --grad-lanes 2
expect_same_model alone ones

expect_exit 2 train_as threads=4 bad --steps 1 --zero 4
expect_exit 2 train_as threads=4 bad --steps 1 --zero 1 --zero-group 3
expect_match stderr 'allowed: all, node, 1, 2, 4'
expect_exit 2 train_as threads=4 bad --steps 1 --zero-group 2
expect_match stderr 'zero-group needs --zero'
expect_exit 2 train_as threads=4 bad --steps 1 --zero 1 --zero-group some
expect_match stderr '^dt-train: error: --zero-group some is not a divisor'
expect_absent bad
