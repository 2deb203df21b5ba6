#!/usr/bin/env bash
# ranks.sh: two steps of llama-tiny on 256 ranks that are threads of one process, against 64 such ranks. It prints the time, which should be
# little more than four times as long, and the peak resident memory of a rank.
set -euo pipefail
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
seq 1 40000 | dt-shard-data --quiet --out shards --val-fraction 0 - >/dev/null

# two_steps RANKS: seconds, and the process's peak of resident memory in KiB, which Linux tells while it lives
two_steps() {
  local ranks=$1 begin=$EPOCHREALTIME peak=0 now pid
  dt-train --quiet --comm threads="$ranks" --model llama-tiny --data shards --run "run$ranks-$RANDOM" --sequence-length 64 --micro-batch 1 \
    --global-batch "$ranks" --threads 1 --steps 2 --lr 1e-3 >/dev/null &
  pid=$!
  while now=$(sed -nE 's/^VmHWM:\s+([0-9]+) kB/\1/p' "/proc/$pid/status" 2>/dev/null) && [[ -n $now ]]; do
    peak=$now
    sleep 0.02
  done
  wait "$pid"
  awk -v begin="$begin" -v end="$EPOCHREALTIME" -v peak="$peak" 'BEGIN { print end - begin, peak }'
}

few=$(two_steps 64)
many=$(two_steps 256)
awk -v few="$few" -v many="$many" 'BEGIN {
  split(few, f); split(many, m)
  printf "two steps of llama-tiny, 256 ranks as threads ÷ 64                %.2f (required: below 5)   %.2f of %.2f s\n", m[1] / f[1], m[1], f[1]
  printf "peak memory of a rank of 256 that are threads                     %.2f MB (required: below 8)\n", m[2] * 1024 / 256 / 1e6
}'
