#!/usr/bin/env bash
# Jobs that start on one run directory at the same time: one goes on, the others name it, and the run stays one line.
source "$(dirname "${BASH_SOURCE[0]}")/../races.sh"
races 10

# Zombies: what an earlier generation commits late, even of the same step, is never selected and replaces nothing.
common=(--quiet --save-every 10 --lr 1e-4 --schedule constant)
train fenced "${common[@]}" --steps 20 >/dev/null || fail "first life"
train fenced "${common[@]}" --steps 40 >/dev/null || fail "second life"
cp -r fenced/checkpoints/step-00000020.g1 late
for step in 30 40 90; do # a first life that went on, unseen
  make_checkpoint fenced "$step" generation=1 >/dev/null || fail "step $step of the first life"
done
expect_equal "$(dt-checkpoint latest fenced)" fenced/checkpoints/step-00000040.g2
if make_checkpoint fenced 40 generation=2 >/dev/null 2>stderr; then fail "a checkpoint was written over another"; fi
expect_match stderr 'step-00000040.g2 already exists'
if make_checkpoint fenced 20 generation=1 >/dev/null 2>stderr; then fail "a checkpoint was written over another"; fi
diff -r late fenced/checkpoints/step-00000020.g1 || fail "a checkpoint changed"
# A step that exists twice is saved again under a third generation.
expect_exit 0 train fenced "${common[@]}" --steps 40 --resume fenced/checkpoints/step-00000020.g1
expect_exit 0 dt-checkpoint diff fenced/checkpoints/step-00000040.g2 fenced/checkpoints/step-00000040.g3
expect_equal "$(dt-checkpoint latest fenced)" fenced/checkpoints/step-00000040.g3

# What crashes leave behind is cleaned up or ignored: unfinished checkpoints, halves of removals, claims that never got their name
# or their content.
mkdir -p fenced/checkpoints/.step-00000050.g3.tmp-host-1 fenced/checkpoints/.step-00000010.g1.removed
cp late/rank-00000.h5 fenced/checkpoints/.step-00000050.g3.tmp-host-1/
echo '{"format": "dt-checkpoint-part"' >fenced/checkpoints/.step-00000050.g3.tmp-host-1/part-00000.json
echo '{"format": "dt-gen' >fenced/generations/.0004.tmp-host-1.json
: >fenced/generations/0004.json
expect_exit 0 train fenced "${common[@]}" --steps 50
expect_equal "$(dt-checkpoint latest fenced)" fenced/checkpoints/step-00000050.g5
expect_equal "$(find fenced/checkpoints -name '.*' | wc -l)" 0 "leftovers"
