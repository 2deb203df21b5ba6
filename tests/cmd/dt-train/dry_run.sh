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
expect_exit 2 dt-train --model llama-tiny --data shards --steps 1 --dry-run --global-batch 3 --micro-batch 2
expect_exit 3 dt-train --model llama-tiny --data shards --steps 1 --dry-run --sequence-length 1000
train run --steps 4 >/dev/null || fail "a run"
expect_exit 0 train run --steps 100 --dry-run
expect_match stdout 'from +run/checkpoints/step-00000004.g1'
expect_equal "$(find run/generations -type f | wc -l)" 1 "generations"
