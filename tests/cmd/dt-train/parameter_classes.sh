#!/usr/bin/env bash
# Shapes of the learning rate, and settings by class of parameters: recorded, kept by a resume, the same bits in any layout.
source "$(dirname "${BASH_SOURCE[0]}")/../layouts.sh"
make_shards shards

lr_at() { sed -nE "s/.*\"kind\":\"train\",\"step\":$2,.*\"lr\":([^,]+),.*/\1/p" "$1/metrics.jsonl" | tail -n 1; }

# goes_on NAME [options]: eight steps, and the last four of them again, by a start that names no option.
goes_on() {
  local name=$1
  shift
  expect_exit 0 train "$name" --steps 8 --save-every 4 --log-every 1 --min-lr 1e-4 --warmup-steps 0 "$@"
  cp -r "$name" "${name}_again"
  rm -r "$(dt-checkpoint latest "${name}_again")"
  expect_exit 0 dt-train --run "${name}_again" --threads 1 --peak-flops 1e9
  expect_match stderr "resuming from .*step-00000004\.g1"
  expect_same_model "$name" "${name}_again"
}
goes_on tail --schedule wsd --decay-steps 4 --decay-shape 1-sqrt
expect_equal "$(lr_at tail 4) $(lr_at tail 5) $(lr_at tail 8)" "0.001 0.00055 0.0001" "rates of 1-sqrt"
goes_on final --schedule cosine --final-steps 4
expect_equal "$(lr_at final 2) $(lr_at final 4) $(lr_at final 5) $(lr_at final 8)" "0.00055 0.0001 0.0001 0.0001" "rates of final steps"
goes_on classes --lr-scale embedding=0.5,norm=0,matrix=2 --no-decay embedding
goes_on mup --mup-base-width 16 --mup-base-head-dim 8
expect_exit 0 train plain --steps 8 --min-lr 1e-4 --warmup-steps 0
expect_exit 5 dt-checkpoint diff "$(dt-checkpoint latest plain)" "$(dt-checkpoint latest classes)"

expect_exit 0 train own_base --steps 8 --min-lr 1e-4 --warmup-steps 0 --mup-base-width 64 # the model's width
expect_same_model plain own_base

# The factors of muP are in the weights: a merged model needs none.
expect_exit 0 dt-merge "$(dt-checkpoint latest mup)" --out merged
expect_exit 0 dt-train --eval-only --run mup --json --threads 1
in_run=$(json_value stdout val_loss)
expect_exit 0 dt-train --eval-only --init-from merged --data shards --sequence-length 32 --json --threads 1
expect_equal "$(json_value stdout val_loss)" "$in_run" "validation losses of the run and of the merged model"

# A start with other factors than those by which the weights began warns, also after --init-from.
expect_exit 0 train own_base --steps 9 --mup-base-width 16
expect_match stderr "warning: the weights began with no --mup-base-width, and this start has --mup-base-width 16 and heads of 16: "
expect_exit 0 dt-train --init-from "$(dt-checkpoint latest mup)" --data shards --run again --steps 1 --sequence-length 32 --threads 1
expect_match stderr "warning: the weights began with --mup-base-width .*, and this start has no --mup-base-width: "

# Any layout: equal bits where that is promised.
expect_exit 0 compare threads=4 "dp=1; pp=2,dp=1; dp=2; dp=1,tp=2; dp=4,zero=1; dp=4,zero=3; pp=2,dp=2,zero=1" --micro-batch 1 --global-batch 4 \
  --steps 6 --json --lr-scale embedding=0.5,head=2,norm=3 --no-decay matrix --mup-base-width 16 --mup-base-head-dim 8 --schedule wsd --decay-steps 3 --decay-shape exponential
expect_equal "$(equal_layouts)" 6 "layouts with equal weights"
expect_equal "$(grep -c '"promised_equal":true' stdout)" 6 "layouts of which that is promised"

# A dry run tells of all.
expect_exit 0 dt-train --model llama-tiny --steps 10 --dry-run --ranks 1 --json --lr-scale norm=2,embedding=0.1 --no-decay matrix,embedding \
  --final-steps 3 --mup-base-width 32
expect_match stdout '"lr_scale":"embedding=0.1,norm=2","no_decay":"embedding,matrix","mup_base_width":32,"mup_base_head_dim":16'
expect_match stdout '"decay_shape":"linear","final_steps":3}'

# What no model or schedule has.
refused() {
  local what=$1
  shift
  expect_exit 2 dt-train --model llama-tiny --data shards --run refused --steps 10 --sequence-length 32 "$@"
  expect_match stderr "error: $what"
}
refused "--lr-scale: \"heads\" is not a class of parameters" --lr-scale heads=2
refused "--no-decay bias: the model has no such parameter" --no-decay bias
refused "--decay-shape exponential needs a --min-lr above 0$" --schedule wsd --decay-shape exponential --min-lr 0
refused "--warmup-steps 4 and --final-steps 7 together exceed the run's 10 steps$" --warmup-steps 4 --final-steps 7
expect_exit 2 dt-train --model gemma3-1b --steps 1 --dry-run --ranks 1 --mup-base-width 128
expect_match stderr "error: --mup-base-width cannot be combined with a gemma3_text model: "
expect_absent refused
