#!/usr/bin/env bash
# tensor.sh: tensor parallelism (--tp 2) on two ranks of one thread each against one rank of two threads: GPT-2 124M, 1024 tokens per step.
# The two sides alternate, so that both see the same machine. It prints the tokens/s of the best step of each. DT_ROUNDS (default 3) is the
# number of rounds, DT_STEPS (default 4) the steps of each; the first step is not counted.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
rounds=${DT_ROUNDS:-3} steps=${DT_STEPS:-4}
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
seq 1 40000 | dt-shard-data --quiet --out shards - >/dev/null

# train RANKS THREADS [options]: prints the time of each step but the first, which takes memory.
train() {
  "${launch[@]}" --bind-to none -n "$1" dt-train --quiet --model gpt2-124m --data shards --run run --steps "$steps" --sequence-length 1024 \
    --micro-batch 1 --global-batch 1 --threads "$2" --peak-flops 1e9 --lr 1e-4 --save-every 1000000 --eval-batches 1 "${@:3}" >/dev/null
  sed -nE 's/.*"kind":"train","step":([0-9]+),.*"step_s":([0-9.e-]+).*/\1 \2/p' run/metrics.jsonl | awk '$1 > 1 {print $2}'
  rm -rf run
}
for precision in fp32 bf16; do
  for ((round = 0; round < rounds; ++round)); do
    train 1 2 --precision "$precision" >>"one.$precision"
    train 2 1 --precision "$precision" --tp 2 >>"tp.$precision"
    train 2 1 --precision "$precision" --tp 2 --sequence-parallel >>"sp.$precision"
  done
done
echo "GPT-2 124M, 1024 tokens a step, two cores: tokens/s of the best step, ÷ that of one rank of two threads"
for precision in fp32 bf16; do
  for kind in one tp sp; do
    paste -d ' ' <(sort -g "one.$precision" | head -n 1) <(sort -g "$kind.$precision" | head -n 1) |
      awk -v kind="$kind" -v precision="$precision" '{
        name["one"] = "one rank"; name["tp"] = "--tp 2"; name["sp"] = "--tp 2 --sequence-parallel"
        printf "  %s  %-28s %7.0f  %.3f%s\n", precision, name[kind], 1024 / $2, $1 / $2, kind == "tp" ? " (at least 0.90)" : "" }'
  done
done
