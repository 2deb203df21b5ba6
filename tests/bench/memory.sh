#!/usr/bin/env bash
# memory.sh: the peak resident memory of one of four ranks with --zero 3, for a model of 304M parameters. The script compares it with the
# buffers that --dry-run estimates, plus the memory that a rank of a tiny model needs beside its own buffers.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
seq 1 20000 | dt-shard-data --quiet --out shards - >/dev/null
config='{"model_type":"gpt2","vocab_size":50257,"n_positions":128,"n_embd":%d,"n_layer":%d,"n_head":16}'
# shellcheck disable=SC2059
{
  printf "$config" 1024 20 >large.json
  printf "$config" 64 1 >tiny.json
}

common=(--quiet --json --data shards --sequence-length 128 --micro-batch 1 --global-batch 4 --threads 1 --steps 2 --lr 1e-4 --recompute full)
value() { sed -nE "s/.*\"$1\": ?([0-9]+).*/\1/p" | head -n 1; }
ranks() { "${launch[@]}" "${share_cores[@]}" -n 4 dt-train --model "$1.json" "${common[@]}" "${@:2}"; }
buffers() { ranks "$1" --zero 3 --dry-run | value memory_bytes; }
peak() { ranks "$1" --compare-layouts "dp=4,zero=3" | value peak_bytes; }

awk -v peak="$(peak large)" -v buffers="$(buffers large)" -v tiny="$(peak tiny)" -v tiny_buffers="$(buffers tiny)" 'BEGIN {
  baseline = tiny - tiny_buffers
  printf "peak memory of a rank, dp=4, zero=3, 304M parameters, ÷ formula  %.3f (within 0.10 of 1)   %.0f of %.0f MB and %.0f beside\n",
    peak / (buffers + baseline), peak / 1e6, buffers / 1e6, baseline / 1e6
}'
