#!/usr/bin/env bash
# pipeline.sh: bubbles and memory of pipelines against the papers' formulas. Then tokens/s of two ranks of one thread each, for a llama of
# eight equal blocks whose embedding and head are a hundredth of the work, with 16 micro-batches. Each schedule with --pp 2 alternates with
# dp=2 on the same work, so that all see the same machine; the best step of each counts. DT_ROUNDS (default 3) is the number of rounds,
# DT_STEPS (default 5) the steps of each; the first step is not counted.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
rounds=${DT_ROUNDS:-3} steps=${DT_STEPS:-5}
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
bench_pipeline bubble
bench_pipeline memory

seq 1 40000 | dt-shard-data --quiet --out shards - >/dev/null
cat >llama.json <<'END'
{"model_type":"llama","vocab_size":512,"hidden_size":512,"intermediate_size":1408,"num_hidden_layers":8,"num_attention_heads":8,
 "num_key_value_heads":8,"max_position_embeddings":256,"rms_norm_eps":1e-5,"rope_theta":1e4,"tie_word_embeddings":false,
 "hidden_act":"silu"}
END
layouts=("" "--pp 2" "--pp 2 --pp-schedule zero-bubble" "--pp 2 --pp-schedule zero-bubble --virtual-stages 2")
# train [options]: prints the time of each step but the first, which takes memory.
train() {
  "${launch[@]}" --bind-to core -n 2 dt-train --quiet --model llama.json --data shards --run run --steps "$steps" --sequence-length 128 \
    --micro-batch 1 --global-batch 16 --threads 1 --peak-flops 1e9 --lr 1e-4 --save-every 1000000 --eval-batches 1 "$@" >/dev/null
  sed -nE 's/.*"kind":"train","step":([0-9]+),.*"step_s":([0-9.e-]+).*/\1 \2/p' run/metrics.jsonl | awk '$1 > 1 {print $2}'
  rm -rf run
}
for ((round = 0; round < rounds; ++round)); do
  for i in "${!layouts[@]}"; do
    # shellcheck disable=SC2086
    train ${layouts[i]} >>"steps$i"
  done
done
echo "llama of 8 blocks, 1 thread a rank, 16 micro-batches of 128 tokens: tokens/s of the best step, ÷ that of dp=2"
for i in "${!layouts[@]}"; do
  paste -d ' ' <(sort -g steps0 | head -n 1) <(sort -g "steps$i" | head -n 1) |
    awk -v layout="${layouts[i]:-dp=2}" '{
      printf "  %-52s %7.0f  %.3f%s\n", layout, 2048 / $2, $1 / $2, layout == "--pp 2" ? " (at least 0.90)" : "" }'
done
