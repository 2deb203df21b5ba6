#!/usr/bin/env bash
# steps_to_loss.sh: the number of steps in which Muon reaches the best loss of AdamW, divided by AdamW's steps. Texts: tiny Shakespeare, if
# DT_SHAKESPEARE names it, and this machine's documentation (datasets/debian-text.sh). Model: GPT-2 with 4 layers, 4 heads, width 128, bytes as
# tokens, 64 tokens per sequence and 16 sequences per step. The script takes about 25 minutes of one core.
# Both optimizers train DT_STEPS steps at each of DT_RATES, from the same weights, on the same batches, with the same schedule: warm-up in the
# first tenth, then a cosine to a tenth of the rate. An optimizer's result is its best validation loss at the end. Muon then trains fewer
# steps, at its best rate. Each of these runs has a whole schedule, since a run is far from its final loss before the rate decays. A bisection
# finds the fewest twentieths of DT_STEPS that end at AdamW's loss or below.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
steps=${DT_STEPS:-500}
read -ra rates <<<"${DT_RATES:-0.001 0.002 0.004 0.008 0.016}"
if ((steps % 20 != 0)); then
  echo "steps_to_loss.sh: DT_STEPS $steps is not a multiple of 20; use 20, 40, …" >&2
  exit 2
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '{"model_type":"gpt2","vocab_size":257,"n_positions":64,"n_embd":128,"n_layer":4,"n_head":4}' >model.json

# final_loss DATA OPTIMIZER RATE STEPS: trains, and prints the validation loss at the end.
final_loss() {
  rm -rf run
  dt-train --quiet --model model.json --data "$1" --run run --global-batch 16 --micro-batch 16 --optimizer "$2" --lr "$3" --steps "$4" \
    --warmup-steps $(($4 / 10)) --eval-every "$4" --eval-batches 100 --log-every "$4" --threads 1 --comm self --device cpu --precision fp32 >/dev/null
  sed -nE 's/.*"kind":"eval",.*"val_loss":([^,]+),.*/\1/p' run/metrics.jsonl | tail -n 1
}

# tune DATA OPTIMIZER: trains at each rate, prints a line, and sets best_rate and best_loss.
tune() {
  local rate loss line="$2:"
  best_loss=inf
  for rate in "${rates[@]}"; do
    loss=$(final_loss "$1" "$2" "$rate" "$steps")
    line+=$(printf '  %s %.4f' "$rate" "$loss")
    if awk -v a="$loss" -v b="$best_loss" 'BEGIN { exit !(b == "inf" || a + 0 < b + 0) }'; then best_loss=$loss best_rate=$rate; fi
  done
  if [[ $best_rate == "${rates[0]}" || $best_rate == "${rates[-1]}" ]]; then line+="  (the best is at the end of the grid)"; fi
  echo "$line"
}

# compare TEXT DATA: prints the row of a text.
compare() {
  local target ratio loss low=0 high=20 part
  echo "$1: validation loss after $steps steps, by learning rate"
  tune "$2" adamw
  target=$best_loss
  tune "$2" muon
  reaches() { awk -v a="$1" -v b="$target" 'BEGIN { exit !(a + 0 <= b + 0) }'; }
  if reaches "$best_loss"; then
    while ((high - low > 1)); do
      part=$(((low + high) / 2))
      loss=$(final_loss "$2" muon "$best_rate" $((steps * part / 20)))
      if reaches "$loss"; then high=$part; else low=$part; fi
    done
    ratio=$(awk -v part=$high 'BEGIN { printf "%.2f", part / 20 }')
  else
    ratio="above 1"
  fi
  printf '%-66s%s (required: at most 0.80)   loss %.4f\n' "steps of Muon to AdamW's loss ÷ AdamW's steps, $1" "$ratio" "$target"
}

if [[ -f ${DT_SHAKESPEARE:-} ]]; then
  dt-shard-data --quiet --out shakespeare --val-fraction 0.1 "$DT_SHAKESPEARE" >/dev/null
  compare Shakespeare shakespeare
else
  echo "steps to AdamW's loss, Shakespeare: DT_SHAKESPEARE does not name tinyshakespeare.txt"
fi
"$here/../../datasets/debian-text.sh" corpus "${DT_BYTES:-2000000}" >/dev/null
dt-shard-data --quiet --out documentation --val-fraction 0.1 corpus >/dev/null
compare documentation documentation
