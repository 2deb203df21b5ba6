#!/usr/bin/env bash
# Layouts of ranks that share a device train the same there, bit for bit where that is promised.
source "$(dirname "${BASH_SOURCE[0]}")/../device.sh"
make_shards shards
compare_on_device gpt2 3
compare_on_device qwen2 3
