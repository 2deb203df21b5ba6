#!/usr/bin/env bash
# Pipelines: a run may change its stages, their schedule and its ranks at every start; whatever else training does, does it under
# them, with the bits of one rank.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards
# Eight units, the first and the last with one table.
echo '{"model_type":"llama","vocab_size":257,"hidden_size":32,"intermediate_size":64,"num_hidden_layers":6,"num_attention_heads":4,
  "num_key_value_heads":2,"max_position_embeddings":64,"tie_word_embeddings":true}' >deep.json
common=(--quiet --model deep.json --grad-lanes 4 --schedule constant --warmup-steps 0)
last() { echo "$1/checkpoints/$(printf 'step-%08d' "$2").g$3"; }
same_state() { expect_exit 0 dt-checkpoint diff --quiet "$@"; }
evaluations() { counted "$1" | grep '"kind":"eval"' | sed -E 's/,"generation":[0-9]+//'; }

# Another pipeline at every start, as threads and as processes, saved in every way: as never stopped.
train one "${common[@]}" --steps 32 --eval-every 4 --save-every 2 >/dev/null || fail "one rank"
starts=0
while read -r kind words; do
  starts=$((starts + 1))
  read -ra words <<<"$words"
  expect_exit 0 train_as "$kind" changes "${common[@]}" --steps $((4 * starts)) --eval-every 4 --save-every 2 "${words[@]}"
done <<'STARTS'
threads=4 --pp 4
self --no-background-save
mpi=4 --pp 2 --zero 1 --checkpoint-writers-per-node 2
threads=8 --pp 4 --pp-schedule interleaved --virtual-stages 2 --zero 1 --recompute full
threads=6 --pp 3 --pp-schedule gpipe --stage-units 1,5,2 --no-background-save
mpi=8 --pp 8 --pp-schedule zero-bubble --recompute selective
threads=8 --pp 2 --pp-schedule zero-bubble --virtual-stages 2 --zero 3 --checkpoint-writers-per-node 1
threads=5 --pp 2 --pp-schedule 1f1b --virtual-stages 1 --stage-units 6,2 --zero 0 --no-overlap
STARTS
same_state "$(last one 32 1)" "$(last changes 32 8)"
expect_exit 0 dt-checkpoint verify --quiet changes/checkpoints/*
expect_equal "$(find "$(last changes 12 3)" -name 'rank-*.h5' | wc -l)" 2 "files of two writers"
expect_equal "$(evaluations changes)" "$(evaluations one)" "evaluations"
expect_equal "$(losses changes)" "$(losses one)" "losses"
expect_equal "$(digest_of changes)" "$(digest_of one)" "data digests"
dt-checkpoint list changes | grep -q 'pp=4,schedule=interleaved,virtual-stages=2,dp=2,tp=1,zero=1' || fail "the layout of a checkpoint"

# Evaluated alone, and its logits.
evaluate() { # KIND LOGITS OPTIONS...
  local alone=(dt-train --eval-only --quiet --json --run one --data shards --sequence-length 32 --threads 1 --eval-batches 2
    --micro-batch 2 --logits-out "$2" --logits-sequences 3 "${@:3}")
  if [[ $1 == mpi=* ]]; then mpi "${1#mpi=}" "${alone[@]}"; else "${alone[@]}" --comm "$1"; fi
}
evaluate self one.h5 >one.json || fail "evaluation"
evaluate self masked.h5 --mask-documents >masked.json || fail "evaluation"
while read -r kind words; do
  read -ra words <<<"$words"
  evaluate "$kind" "$kind.h5" "${words[@]}" >stdout 2>stderr || fail "evaluation of $kind ${words[*]}: $(cat stderr)"
  expected=one
  [[ " ${words[*]} " != *--mask-documents* ]] || expected=masked
  cmp stdout "$expected.json" || fail "evaluations differ: $kind ${words[*]}"
  cmp "$kind.h5" "$expected.h5" || fail "logits differ: $kind ${words[*]}"
  rm "$kind.h5"
done <<'EVALUATIONS'
threads=2 --pp 2
threads=8 --pp 4 --mask-documents
threads=3 --pp 2
threads=4 --pp 4 --pp-schedule interleaved --virtual-stages 2
mpi=3 --pp 2 --pp-schedule zero-bubble --virtual-stages 2
EVALUATIONS

# What else changes the bits changes them alike: precision, documents, weights from elsewhere.
dt-merge --quiet "$(dt-checkpoint latest one)" --out weights >/dev/null || fail "dt-merge"
num=0
while read -r words; do
  num=$((num + 1))
  read -ra words <<<"$words"
  expect_exit 0 train "alone$num" "${common[@]}" --steps 5 "${words[@]}"
  for pipeline in "threads=4 --pp 2 --zero 1" "threads=4 --pp 2 --pp-schedule zero-bubble --virtual-stages 2 --recompute full"; do
    read -ra pipeline <<<"$pipeline"
    rm -rf piped
    expect_exit 0 train_as "${pipeline[0]}" piped "${common[@]}" --steps 5 "${words[@]}" "${pipeline[@]:1}"
    same_state "$(last "alone$num" 5 1)" "$(last piped 5 1)"
    expect_equal "$(digest_of piped)" "$(digest_of "alone$num")" "data digests with ${words[*]}"
  done
done <<'WAYS'
--precision bf16
--precision bf16 --grad-dtype bf16 --reduce-dtype bf16
--precision fp64
--mask-documents
--init-from weights
WAYS
# fp16: the scale of a loss that overflows halves on all stages, and their updates are left out.
cat >wide.json <<'JSON'
{"model_type":"llama","vocab_size":20000,"hidden_size":32,"intermediate_size":64,"num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":2,"max_position_embeddings":64}
JSON
overflow=(--quiet --model wide.json --precision fp16 --sequence-length 1 --global-batch 2 --micro-batch 1 --grad-lanes 2 --steps 4)
expect_exit 0 train scaled "${overflow[@]}"
expect_exit 0 train_as threads=3 scaled3 "${overflow[@]}" --pp 3
scales() { sed -nE 's/.*"loss_scale":([^,}]+).*/\1/p' "$1/metrics.jsonl"; }
expect_match <(scales scaled) 32768
expect_equal "$(scales scaled3)" "$(scales scaled)" "loss scales"
same_state "$(last scaled 4 1)" "$(last scaled3 4 1)"

# More data-parallel ranks than a step has micro-batches.
expect_exit 0 train_as threads=8 idle --steps 1 --pp 2 --global-batch 4
expect_match stderr '4 data-parallel ranks for 2 micro-batches per step: 2 of them have nothing to compute'
