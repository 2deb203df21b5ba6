#!/usr/bin/env bash
# A checkpoint of a device or a CPU is the other's, bit for bit, moments and all: what has nothing left to do saves what it loaded.
source "$(dirname "${BASH_SOURCE[0]}")/../device.sh"
make_shards shards
small=(--sequence-length 16 --global-batch 2 --micro-batch 1)
small_model llama.json llama

for precision in fp32 bf16; do
  train "cpu-$precision" --model llama.json "${small[@]}" --steps 2 --precision $precision 2>/dev/null
  there=there-$precision back=back-$precision
  on_device train "$there" --model llama.json "${small[@]}" --steps 2 --precision $precision --resume "$(dt-checkpoint latest "cpu-$precision")" 2>/dev/null
  train "$back" --model llama.json "${small[@]}" --steps 2 --precision $precision --resume "$(dt-checkpoint latest "$there")" 2>/dev/null
  for other in "$there" "$back"; do
    expect_exit 0 dt-checkpoint diff "$(dt-checkpoint latest "cpu-$precision")" "$(dt-checkpoint latest "$other")"
  done
done
