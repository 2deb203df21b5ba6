#!/usr/bin/env bash
# context.sh: context parallelism (--cp 2) against one rank, for sequences of 8192 tokens. Two ranks of one thread each alternate with one
# rank of two threads, so that both see the same machine. It prints the tokens/s of the best step of each, and the memory of activations.
# DT_ROUNDS (default 2) is the number of rounds, DT_STEPS (default 3) the steps of each; the first step is not counted.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
rounds=${DT_ROUNDS:-2} steps=${DT_STEPS:-3}
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
seq 1 60000 | dt-shard-data --quiet --out shards - >/dev/null
# Heads, their grouping and the MLP's width as Llama 3 has them, over fewer features and blocks, so that a step takes seconds; attention
# is then half of a block's work, as of one four times as wide with sequences four times as long. The vocabulary is as small, so that
# blocks are what is measured.
echo '{"model_type":"llama","vocab_size":4096,"hidden_size":512,"intermediate_size":1792,"num_hidden_layers":6,"num_attention_heads":8,
  "num_key_value_heads":2,"max_position_embeddings":8192,"rope_theta":500000}' >model.json

run() { # RANKS THREADS LENGTH PRECISION [options]
  "${launch[@]}" --bind-to none -n "$1" dt-train --quiet --model model.json --data shards --sequence-length "$3" --precision "$4" --micro-batch 1 \
    --global-batch 1 --threads "$2" --lr 1e-4 "${@:5}"
}
# train: prints the time of each step but the first, which takes memory.
train() { # RANKS THREADS PRECISION [options]
  run "$1" "$2" 8192 "${@:3}" --run run --steps "$steps" --peak-flops 1e9 --save-every 1000000 --eval-batches 1 >/dev/null
  sed -nE 's/.*"kind":"train","step":([0-9]+),.*"step_s":([0-9.e-]+).*/\1 \2/p' run/metrics.jsonl | awk '$1 > 1 {print $2}'
  rm -rf run
}
peak() { run "${@:1:4}" --steps 1 --json --compare-layouts "$5" | sed -nE 's/.*"peak_bytes": ?([0-9]+).*/\1/p'; }
# activations: what a rank's peak is over that of sequences too short to take anything.
activations() { echo $(($(peak "$1" "$2" 8192 "$3" "$4") - $(peak "$1" "$2" 64 "$3" "$4"))); } # RANKS THREADS PRECISION LAYOUT

for precision in fp32 bf16; do
  for ((round = 0; round < rounds; ++round)); do
    train 1 2 "$precision" >>"one.$precision"
    train 2 1 "$precision" --cp 2 >>"cp.$precision"
  done
done
echo "a llama of 512 features and 6 blocks, sequences of 8192 tokens, two cores: --cp 2 ÷ one rank of two threads"
for precision in fp32 bf16; do
  paste -d ' ' <(sort -g "one.$precision" | head -n 1) <(sort -g "cp.$precision" | head -n 1) |
    awk -v precision="$precision" '{
      printf "  %s  tokens/s of the best step   %7.0f ÷ %7.0f = %.3f (at least 0.90)\n", precision, 8192 / $2, 8192 / $1, $1 / $2 }'
  awk -v one="$(activations 1 2 "$precision" dp=1)" -v cp="$(activations 2 1 "$precision" cp=2,dp=1)" -v precision="$precision" 'BEGIN {
    printf "  %s  activations of a rank, MB   %7.0f ÷ %7.0f = %.3f (at most 0.55)\n", precision, cp / 1e6, one / 1e6, cp / one }'
done
