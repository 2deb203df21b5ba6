#!/usr/bin/env bash
# Each kind of invocation refuses the options that it has no use for, by name, and no others.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# All options with a value that they take: "--lr 1", "--overlap".
all_options() {
  dt-train --help-all | sed -nE 's/--\[no-\]/--/; s/^ +(--[a-z0-9-]+)( ([^ ]+))?(  .*)?$/\1 \3/p' |
    sed -E 's/^--schedule NAME/--schedule cosine/; s/ ([a-z0-9]+)\|.*/ \1/; s/ [A-Z].*/ 1/'
}

# refused_with OPTION...: what an invocation with these options has no use for, in the order of --help-all.
refused_with() {
  local name value
  while read -r name value; do
    dt-train --data nowhere "$@" "$name" ${value:+"$value"} >/dev/null 2>stderr || true
    if grep -q -- "error: $name cannot be combined with $1" stderr; then echo "${name#--}"; fi
  done < <(all_options) | xargs
}

evaluation="seed steps tokens epochs grad-lanes grad-dtype loss-scale recompute zero zero-group comm-bucket-bytes"
evaluation+=" lr min-lr warmup-steps schedule decay-steps decay-shape final-steps lr-reference-batch optimizer weight-decay beta1 beta2 adam-eps momentum nesterov adam-lr beta2-decay clip-threshold scale-parameter relative-step"
evaluation+=" moments lr-scale no-decay mup-base-width mup-base-head-dim ema clip-norm z-loss qk-clip"
kept_runs="save-every background-save checkpoint-writers-per-node checkpoint-local encrypt-copies flush-every keep-last keep-every"
expect_equal "$(refused_with --eval-only)" \
  "$evaluation $kept_runs eval-every log-every peak-flops profile dry-run compare-layouts show-schedule" "evaluation"
proof="$kept_runs resume eval-every eval-batches log-every peak-flops profile"
expect_equal "$(refused_with --show-schedule --steps 1)" "stage-dir stage-limit $proof" "a schedule that is shown"
expect_equal "$(refused_with --compare-layouts dp=1 --steps 1)" "run $proof" "layouts that are compared"
expect_equal "$(refused_with --dry-run --steps 1)" "" "a dry run"

# needs WHAT OPTION...: the first option needs what another says.
needs() {
  local what=$1
  shift
  expect_exit 2 dt-train --model llama-tiny --data nowhere --run run --steps 1 "$@"
  expect_match stderr "error: $1 needs $what$"
}
needs --eval-only --logits-out x.h5
needs --logits-out --logits-sequences 2
needs --keep-last --keep-every 5
needs --save-every --background-save
needs --save-every --checkpoint-local x
needs --checkpoint-local --flush-every 2
needs "--schedule wsd or wsd-cosine" --decay-steps 5
needs "--schedule wsd" --decay-shape cosine
needs "--schedule wsd" --decay-shape 1-sqrt --schedule wsd-cosine
needs "--schedule cosine or linear" --final-steps 1 --schedule wsd
needs "a schedule that decays" --min-lr 1e-5 --schedule constant
needs --mup-base-width --mup-base-head-dim 8
needs "--optimizer adamw or muon" --moments bf16 --optimizer lion
needs "--zero 1, 2 or 3" --zero-group 2
needs --show-schedule --svg x.svg
needs --show-schedule --roofline h100
needs "--dry-run, or --show-schedule without --run" --rank-flops 1e12
needs "--dry-run or --show-schedule" --link-bandwidth 1e9
needs "--dry-run or --show-schedule" --node-bandwidth 1e9
needs "--dry-run or --show-schedule" --ranks 4
needs --ranks --ranks-per-node 4
expect_exit 2 dt-train --model llama-tiny --steps 1 --dry-run --ranks 4 --comm threads=4
expect_match stderr "--ranks cannot be combined with --comm: --comm starts real ranks$"
expect_exit 2 dt-train --model llama-tiny --data nowhere --run run --steps 1 --save-every 1 --checkpoint-local x \
  --checkpoint-writers-per-node 2
expect_match stderr "--checkpoint-writers-per-node cannot be combined with --checkpoint-local: local checkpoints have one file per rank$"
expect_exit 2 dt-train --eval-only --data nowhere --init-from x --resume auto
expect_match stderr "--eval-only takes --init-from or --resume, not both"
expect_absent run
