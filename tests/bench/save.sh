#!/usr/bin/env bash
# save.sh: how long a checkpoint stops training, if it is written in the background and if training waits for it. Seven pairs, each from one
# run: the first save is in the background, the last is not. It also prints the total cost of a save, since steps that share the machine
# with the writing are slower.
set -euo pipefail
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
seq 1 200000 | dt-shard-data --quiet --out shards - >/dev/null
printf '{"model_type": "gpt2", "vocab_size": 8192, "n_embd": 768, "n_layer": 6, "n_head": 12, "n_positions": 512}' >model.json

median() { sort -g | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
# values KIND NAME: "step value" for each line of a kind.
values() { sed -nE "s/.*\"kind\":\"$1\",\"step\":([0-9]+),.*\"$2\":([0-9.e-]+).*/\1 \2/p" run/metrics.jsonl; }

for _ in 1 2 3 4 5 6 7; do
  dt-train --quiet --model model.json --data shards --run run --steps 12 --save-every 6 --sequence-length 512 --global-batch 4 \
    --micro-batch 4 --peak-flops 1e9 --lr 1e-4 --eval-batches 1 >/dev/null
  waited=$(values checkpoint stall_s | awk '$1 == 12 {print $2}')
  stalled=$(values checkpoint stall_s | awk '$1 == 6 {print $2}')
  usual=$(values train step_s | awk '$1 > 1 && $1 <= 6 {print $2}' | median)
  slower=$(values train step_s | awk -v usual="$usual" '$1 > 6 {sum += $2 - usual} END {print sum}')
  bytes=$(values checkpoint bytes | awk 'NR == 1 {print $2}')
  awk -v s="$stalled" -v w="$waited" -v l="$slower" 'BEGIN {print s / w, l / w}' >>ratios
  echo "$stalled $waited $usual $bytes" >>seconds
  rm -rf run
done
printf 'training stopped by a save in the background ÷ by a blocking one  %.3f (at most 0.10)   ' "$(cut -d' ' -f1 ratios | median)"
awk '{s += $1; w += $2; u += $3; b = $4} END {printf "%.0f of %.0f ms for %.0f MB; a step takes %.0f ms\n", s / NR * 1e3, w / NR * 1e3, b / 1e6, u / NR * 1e3}' seconds
printf 'all that it costs, slower steps too, ÷ a blocking save            %.3f\n' "$(cut -d' ' -f2 ratios | median)"
