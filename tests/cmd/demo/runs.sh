#!/usr/bin/env bash
# The main job: text, shards, training, a kill, resume, verify, merge.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

expect_exit 0 bash "$DT_TESTS/../jobs/demo.sh" demo
expect_match stderr 'resuming from demo/run/checkpoints/step-00000200.g1'
expect_match stdout '^ +600 .*validation'
for path in shards/dataset.json run/metrics.jsonl model/config.json model/model.safetensors model.h5; do
  [[ -s demo/$path ]] || fail "demo/$path is missing"
done
loss() { sed -nE "s/.*\"step\":$1,\"loss\":([^,]+),.*/\1/p" demo/run/metrics.jsonl | tail -n 1; }
awk -v a="$(loss 25)" -v b="$(loss 600)" 'BEGIN {exit !(b < a - 0.5)}' || fail "the loss went from $(loss 25) to $(loss 600)"
