#!/usr/bin/env bash
# All families in all layouts that a device is tried in: through NCCL, played on the test device, the bits of messages.
# shellcheck disable=SC2034,SC2154 # what other files use, and set
# What follows is long to follow.
# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/../nccl_layouts.sh"
make_shards shards
need_nccl 4
for family in gpt2 llama mistral qwen2; do
  small_model "$family.json" "$family"
  small=(--data shards --model "$family.json" --sequence-length 16 --global-batch 4 --micro-batch 1)
  expect_bits_of_messages 10 "$device_layouts" 16
done
