#!/usr/bin/env bash
# data_parallel.sh: two data-parallel ranks of one thread each against two independent one-thread runs at the same time. Each trains GPT-2
# 124M with one sequence of 1024 tokens per rank. The two sides alternate, so that both see the same machine. It prints the medians and
# their ratio. DT_PAIRS (default 3) is the number of pairs, DT_STEPS (default 6) the steps of each; the first step is not counted.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
pairs=${DT_PAIRS:-3} steps=${DT_STEPS:-6}
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
seq 1 200000 | dt-shard-data --quiet --out shards - >/dev/null

# train RUN GLOBAL_BATCH [launcher…]
train() {
  local run=$1 batch=$2
  shift 2
  "$@" dt-train --quiet --model gpt2-124m --data shards --run "$run" --steps "$steps" --sequence-length 1024 --micro-batch 1 \
    --global-batch "$batch" --threads 1 --peak-flops 1e9 --lr 1e-4 --eval-batches 1 >/dev/null
}
# step_times RUN: of all steps but the first, in seconds.
step_times() { sed -nE 's/.*"kind":"train","step":([0-9]+),.*"step_s":([0-9.e-]+).*/\1 \2/p' "$1/metrics.jsonl" | awk '$1 > 1 {print $2}'; }
median() { sort -g | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

for ((pair = 0; pair < pairs; ++pair)); do
  train left 1 taskset -c 0 &
  train right 1 taskset -c 1
  wait $!
  { step_times left; step_times right; } >>alone
  train both 2 "${launch[@]}" --bind-to core -n 2
  step_times both >>together
  sed -nE 's/.*"kind":"train","step":([0-9]+),.*"exposed_comm_s":([0-9.e-]+).*/\1 \2/p' both/metrics.jsonl | awk '$1 > 1 {print $2}' >>exposed
  rm -rf left right both
done
alone=$(median <alone) together=$(median <together)
awk -v a="$alone" -v t="$together" -v e="$(median <exposed)" 'BEGIN {
  printf "GPT-2 124M, 1 thread a rank, 1024 tokens a rank and step\n"
  printf "  two runs side by side  %.3f s a step\n  dp=2                   %.3f s a step, %.3f s of them exposed communication\n", a, t, e
  printf "  ratio                  %.3f (at least 0.95)\n", a / t }'
