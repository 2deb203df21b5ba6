#!/usr/bin/env bash
# Training goes on bit for bit from a checkpoint that was divided anew, whatever its pieces.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards
common=(--quiet --schedule constant --warmup-steps 0 --grad-lanes 4)
train whole "${common[@]}" --steps 20 --save-every 10 >/dev/null || fail "undisturbed run"
middle=whole/checkpoints/step-00000010.g1
reshard() { dt-checkpoint reshard --quiet "$@" || fail "dt-checkpoint reshard $*"; }

for layout in tp=2,pp=2,dp=1,zero=1 tp=4,dp=2,zero=3 pp=2,dp=3 dp=8,zero=2; do
  reshard "$middle" "at $layout" --layout "$layout"
  expect_exit 0 train "alone $layout" "${common[@]}" --steps 20 --resume "at $layout"
  expect_same_model whole "alone $layout"
done
# Ranks that divide the state themselves, and whose own checkpoint is divided anew again.
expect_exit 0 train_as threads=4 ranks "${common[@]}" --steps 15 --zero 3 --resume "at tp=2,pp=2,dp=1,zero=1"
reshard "$(dt-checkpoint latest ranks)" again --layout tp=2,dp=3,zero=1
expect_exit 0 train_as threads=2 last "${common[@]}" --steps 20 --zero 1 --resume again
expect_exit 0 dt-checkpoint diff --quiet whole/checkpoints/step-00000020.g1 last/checkpoints/step-00000020.g1
expect_equal "$(digest_of last)" "$(digest_of whole)" "data digests"

# Under a checkpoint's name in a new run's folder, and in place of the run's own.
mkdir -p new/checkpoints
reshard "$middle" new/checkpoints/step-00000010.g1 --layout tp=4,pp=2
expect_exit 0 train new "${common[@]}" --steps 20
expect_match new/metrics.jsonl '"kind":"resume".*"step":10,.*step-00000010.g1'
expect_same_model whole new
train own "${common[@]}" --steps 10 >/dev/null || fail "first half"
reshard own/checkpoints/step-00000010.g1 own/checkpoints/step-00000010.g1 --layout dp=5,zero=1 --overwrite
expect_exit 0 train own "${common[@]}" --steps 20
expect_same_model whole own
