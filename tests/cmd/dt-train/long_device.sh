#!/usr/bin/env bash
# Fifty steps of all families on a device: in every layout as in one rank, and as on the CPU.
source "$(dirname "${BASH_SOURCE[0]}")/../device.sh"
make_shards shards
for family in gpt2 llama mistral qwen2; do
  compare_on_device $family 50
  for kind in self threads=4; do
    layout=()
    [[ $kind == self ]] || layout=(--tp 2 --pp 2)
    on_device train "$family-$kind" --model "$family.json" --sequence-length 16 --global-batch 4 --micro-batch 1 --steps 50 --comm $kind "${layout[@]}" \
      2>/dev/null
  done
  train "$family-cpu" --model "$family.json" --sequence-length 16 --global-batch 4 --micro-batch 1 --steps 50 2>/dev/null
  for kind in self threads=4; do
    expect_close "$(losses "$family-$kind")" "$(losses "$family-cpu")" 1e-5 "$family, $kind"
    expect_equal "$(digest_of "$family-$kind")" "$(digest_of "$family-cpu")" "data of $family, $kind"
  done
done
