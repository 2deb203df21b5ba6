#!/usr/bin/env bash
# --dry-run checks and estimates, and changes nothing.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

expect_exit 0 train run --steps 100 --dry-run
expect_match stdout '^memory_bytes'
expect_absent run
expect_exit 0 train run --steps 100 --dry-run --json
expect_match stdout '"warmup_steps":1,'
expect_match stdout '"arriving_bytes":0,'
expect_exit 0 train run --steps 100 --dry-run --json --comm threads=2 --comm-bucket-bytes 64Ki
expect_match stdout '"arriving_bytes":65536,'
expect_exit 0 dt-train --model llama-8b --data shards --steps 10 --dry-run --threads 1 --sequence-length 64
expect_match stdout 'parameters +8,030,261,248'
expect_match stderr 'warning: needs .* of memory'
expect_exit 0 train run --steps 100 --dry-run --comm threads=5 --pp 2 --zero 1 --pp-schedule zero-bubble --virtual-stages 2
for line in 'ranks +4' 'pp +2' 'pp_schedule +zero-bubble' 'virtual_stages +2' 'stage_units +1,1,1,1' 'dp +2' 'zero +1'; do
  expect_match stdout "^$line\$"
done
expect_match stderr '1 of 5 ranks would sit out'
# The most loaded rank's memory: GPipe's first stage holds every micro-batch.
held() {
  expect_exit 0 train run --steps 100 --dry-run --json --comm threads=2 --global-batch 64 --stage-units 3,1 --pp 2 "$@"
  json_value stdout activations_bytes
}
(($(held --pp-schedule gpipe) > $(held --pp-schedule 1f1b))) || fail "GPipe holds no more than 1F1B"
expect_equal "$(json_value stdout most_loaded_stage)" 0
(($(json_value stdout host_memory_bytes) > $(json_value stdout memory_bytes))) || fail "a host holds no more than a rank"
expect_exit 2 dt-train --model llama-tiny --data shards --steps 1 --dry-run --global-batch 3 --micro-batch 2
expect_exit 3 dt-train --model llama-tiny --data shards --steps 1 --dry-run --sequence-length 1000
train run --steps 4 >/dev/null || fail "a run"
expect_exit 0 train run --steps 100 --dry-run
expect_match stdout 'from +run/checkpoints/step-00000004.g1'
expect_equal "$(find run/generations -type f | wc -l)" 1 "generations"
