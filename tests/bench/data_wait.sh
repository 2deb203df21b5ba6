#!/usr/bin/env bash
# data_wait.sh: the time that a step of GPT-2 124M waits for its data, divided by the time of the step, from the run's own metrics. The
# dataset is not in the page cache, if the system can drop it. The first step is not counted, since no data can be read before it.
set -euo pipefail
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
seq 1 3000000 | dt-shard-data --quiet --out shards --val-fraction 0 --shard-tokens 1M - >/dev/null
for shard in shards/*.h5; do dd if="$shard" iflag=nocache count=0 status=none; done
dt-train --quiet --model gpt2-124m --data shards --run run --steps 3 --global-batch 2 --lr 1e-4 --peak-flops 1e12 >/dev/null
value() { sed -nE "s/.*\"kind\":\"train\",\"step\":[2-9],.*\"$1\":([^,]+),.*/\1/p" run/metrics.jsonl | awk '{ sum += $1 } END { print sum / NR }'; }
awk -v wait="$(value data_wait_s)" -v step="$(value step_s)" 'BEGIN {
  printf "wait for data ÷ step of GPT-2 124M, T=1024                        %.6f (required: below 0.001)   %.1f µs of %.2f s\n", wait / step, 1e6 * wait, step
}'
