#!/usr/bin/env bash
# muon.sh: the share of Muon's update in a step of GPT-2 124M with 2^19 tokens, in fp32 and bf16, from the profiles of smaller steps. The time
# of the update does not depend on the number of tokens; the time of the rest of a step is proportional to it. The update is the whole action:
# Muon's update of matrices, and AdamW's of other parameters. DT_STEPS (default 3) is the number of steps. The first is not counted; of the
# others, the one with the shortest rest counts. The script also prints the share of AdamW's update in a step of AdamW.
set -euo pipefail
shopt -s inherit_errexit
steps=${DT_STEPS:-3} tokens=2048
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
seq 1 100000 | dt-shard-data --quiet --out shards --val-fraction 0 - >/dev/null

# shares OPTIMIZER PRECISION: prints the share, and the seconds of the update and of the rest in the measured step.
shares() {
  rm -rf run
  dt-train --quiet --model gpt2-124m --data shards --run run --steps "$steps" --global-batch $((tokens / 1024)) --micro-batch 1 --lr 1e-4 \
    --device cpu --comm self --peak-flops 1e12 --optimizer "$1" --precision "$2" --profile "2-$steps" >/dev/null
  for profile in run/profile/*.json; do
    # The first of the two spans is the whole step, and the second is the action.
    tr '{' '\n' <"$profile" | sed -nE 's/.*"cat":"step".*"dur":([0-9.]+).*/\1/p' | xargs
  done | awk -v tokens=$tokens '
    { rest = $1 - $2 } NR == 1 || rest < least { least = rest; update = $2 }
    END { print update / (update + least * 524288 / tokens), update / 1e6, least / 1e6 }'
}

for precision in fp32 bf16; do
  if [[ $precision == fp32 ]]; then bound=0.02; else bound=0.04; fi
  of_muon=$(shares muon $precision) of_adamw=$(shares adamw $precision)
  read -r share update rest <<<"$of_muon"
  printf 'Muon: update ÷ step of GPT-2 124M with 524,288 tokens, %s       %.4f (required: at most %.2f)   %.2f s; %d tokens take %.2f s; AdamW %.4f\n' \
    $precision "$share" $bound "$update" $tokens "$rest" "${of_adamw%% *}"
done
