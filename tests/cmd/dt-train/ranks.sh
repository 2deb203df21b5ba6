#!/usr/bin/env bash
# Any number of ranks trains the same: the same data, the same bits where lanes allow it, else the same losses.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards

# Lanes fix the shape of the sum: 1, 2 and 4 ranks, as threads and as processes, give the same bits.
lanes=(--quiet --steps 50 --grad-lanes 4 --save-every 20)
train one "${lanes[@]}" >/dev/null || fail "one rank"
for kind in threads=2 threads=4 mpi=1 mpi=2 mpi=4; do
  expect_exit 0 train_as "$kind" "$kind" "${lanes[@]}"
  expect_same_model one "$kind"
  expect_equal "$(losses "$kind")" "$(losses one)" "losses of $kind"
  expect_equal "$(digest_of "$kind")" "$(digest_of one)" "data digest of $kind"
done
# Each rank wrote a part, and the evaluation does not depend on the ranks that wrote them.
expect_equal "$(find mpi=4/checkpoints/step-00000050.g1 -name 'rank-*.h5' | wc -l)" 4 "files of a checkpoint"
evaluation() { grep -h '"kind":"eval"' "$1/metrics.jsonl"; }
expect_equal "$(evaluation mpi=4)" "$(evaluation one)" "evaluation"
# The number of ranks may change on resume.
steps=0
for kind in mpi=4 threads=2 mpi=1 threads=3; do
  steps=$((steps + 12))
  expect_exit 0 train_as "$kind" changes --quiet --steps "$steps" --grad-lanes 4 --schedule constant --warmup-steps 0
done
expect_exit 0 train still --quiet --steps 48 --grad-lanes 4 --schedule constant --warmup-steps 0
expect_equal "$(digest_of changes)" "$(digest_of still)" "data digest over changes of ranks"

# Any number of ranks, each with its own lane: the same data, losses equal but for rounding.
# close RUN RUN BOUND: relative difference of each step's loss.
close() {
  paste <(losses "$1") <(losses "$2") | awk -v bound="$3" '
    { d = ($2 - $4) / $2; if (d < 0) d = -d; if (d > bound) { print "step " $1 ": " $2 " and " $4; bad = 1 } }
    END { exit bad || NR != 50 }' || fail "losses of $1 and $2 differ"
}
for precision in fp32:1e-5 fp64:1e-10; do
  bound=${precision#*:} precision=${precision%:*}
  common=(--quiet --steps 50 --global-batch 12 --precision "$precision" --eval-batches 1)
  train "$precision" "${common[@]}" >/dev/null || fail "$precision"
  for ranks in 2 3 5 6; do
    expect_exit 0 train_as "threads=$ranks" "$precision-$ranks" "${common[@]}"
    expect_equal "$(digest_of "$precision-$ranks")" "$(digest_of "$precision")" "data digest of $ranks ranks"
    close "$precision" "$precision-$ranks" "$bound"
  done
done
expect_exit 0 train_as mpi=3 fp32-mpi3 --quiet --steps 50 --global-batch 12 --eval-batches 1
expect_same_model fp32-3 fp32-mpi3

# More ranks than micro-batches: allowed, said once, and the same bits as their lanes give one rank.
expect_exit 0 train_as mpi=3 many --steps 50 --global-batch 4 --micro-batch 2 --grad-lanes 2
expect_equal "$(grep -c '3 ranks for 2 micro-batches per step: 1 of them has nothing to compute' stderr)" 1 "warnings"
expect_exit 0 train_as threads=8 many8 --steps 50 --grad-lanes 8 --global-batch 8 --micro-batch 2
expect_exit 0 train few --steps 50 --grad-lanes 8 --global-batch 8 --micro-batch 2
expect_same_model many8 few
