#!/usr/bin/env bash
# Tensor and sequence parallelism: a run may change what its ranks share at every start; it learns what one rank does, but for rounding, and
# at equal cuts has the same bits.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards
# Neither the vocabulary nor the MLP divides evenly; with tp=4 two ranks each hold the same key-value heads; ZeRO has blocks to divide.
echo '{"model_type":"llama","vocab_size":257,"hidden_size":64,"intermediate_size":178,"num_hidden_layers":2,"num_attention_heads":4,
  "num_key_value_heads":2,"max_position_embeddings":64,"tie_word_embeddings":true}' >model.json
common=(--quiet --model model.json --grad-lanes 4 --schedule constant --warmup-steps 0)
last() { echo "$1/checkpoints/$(printf 'step-%08d' "$2").g$3"; }
same_state() { expect_exit 0 dt-checkpoint diff --quiet "$@"; }
# selected_steps RUN, validations RUN: "step loss" of training and of evaluations, one of a step.
validations() { sed -nE 's/.*"kind":"eval","step":([0-9]+),"val_loss":([^,]+),.*/\1 \2/p' "$1/metrics.jsonl" | sort -n; }

# Another cut at every start, as threads and as processes, saved in every way: as one rank that never stopped.
train one "${common[@]}" --steps 44 --eval-every 4 --save-every 4 >/dev/null || fail "one rank"
starts=0
while read -r kind words; do
  starts=$((starts + 1))
  read -ra words <<<"$words"
  expect_exit 0 train_as "$kind" changes "${common[@]}" --steps $((4 * starts)) --eval-every 4 --save-every 2 "${words[@]}"
done <<'STARTS'
threads=2 --tp 2
mpi=4 --tp 4 --sequence-parallel
threads=8 --tp 2 --sequence-parallel --pp 2 --zero 1 --recompute full
self --no-background-save
mpi=8 --tp 4 --pp 2 --pp-schedule zero-bubble --recompute selective
threads=8 --tp 4 --sequence-parallel --pp 1 --zero 3 --checkpoint-writers-per-node 3
mpi=4 --tp 2 --zero 2 --checkpoint-writers-per-node 2
threads=7 --tp 2 --zero 1 --no-overlap --no-background-save
threads=8 --tp 2 --sequence-parallel --pp 2 --pp-schedule interleaved --virtual-stages 2 --zero 3 --zero-group 1
threads=8 --tp 1 --pp 4 --zero 1
mpi=6 --tp 2 --pp 3 --pp-schedule gpipe --recompute selective --checkpoint-writers-per-node 1
STARTS
expect_close "$(losses changes)" "$(losses one)" 1e-5 "losses"
expect_close "$(validations changes)" "$(validations one)" 1e-5 "evaluations"
expect_equal "$(digest_of changes)" "$(digest_of one)" "data digests"
expect_exit 0 dt-checkpoint verify --quiet changes/checkpoints/*
expect_equal "$(find "$(last changes 24 6)" -name 'rank-*.h5' | wc -l)" 3 "files of three writers"
expect_exit 0 dt-checkpoint list changes
for layout in pp=1,dp=1,tp=2,zero=0 pp=1,dp=1,tp=4,sp=on,zero=0 pp=2,dp=2,tp=2,sp=on,zero=1 pp=2,schedule=zero-bubble,dp=1,tp=4,zero=0 \
  pp=1,dp=2,tp=4,sp=on,zero=3 pp=1,dp=3,tp=2,zero=1 pp=4,dp=2,tp=1,zero=1; do
  expect_match stdout " $layout "
done

# A start that changes the cut says so.
expect_exit 0 train changes "${common[@]:1}" --steps 45 --comm threads=2 --tp 2 --sequence-parallel
expect_match stderr 'results will not be bit-identical to the earlier run: sequence_parallel false → true'
expect_exit 0 train changes "${common[@]:1}" --steps 46
expect_match stderr 'results will not be bit-identical to the earlier run: tp 2 → 1'

# At equal cuts the bits of ranks that only share layers, however the rest changes; nor do chunks of what they exchange change any.
starts_alike() { # KIND CUT...: reads starts of eight steps each, "KIND OPTIONS"
  local run="alike ${*:2}" starts=0 words kind
  expect_exit 0 train_as "$1" "steady ${*:2}" "${common[@]}" --steps 24 --save-every 8 --eval-every 8 "${@:2}"
  while read -r kind words; do
    starts=$((starts + 1))
    read -ra words <<<"$words"
    expect_exit 0 train_as "$kind" "$run" "${common[@]}" --steps $((8 * starts)) --eval-every 8 "${@:2}" "${words[@]}"
    same_state "$(last "steady ${*:2}" $((8 * starts)) 1)" "$(last "$run" $((8 * starts)) $starts)"
  done
  expect_equal "$(losses "$run")" "$(losses "steady ${*:2}")" "losses with ${*:2}"
  expect_equal "$(validations "$run")" "$(validations "steady ${*:2}")" "evaluations with ${*:2}"
}
starts_alike threads=2 --tp 2 <<'STARTS'
mpi=4 --zero 1 --tp-overlap-chunks 3
threads=8 --pp 2 --pp-schedule zero-bubble --virtual-stages 2 --recompute full
threads=8 --pp 4 --recompute selective --tp-overlap-chunks 2 --no-overlap
STARTS
starts_alike threads=4 --tp 4 --sequence-parallel <<'STARTS'
threads=8 --recompute selective --tp-overlap-chunks 4 --placement launcher
mpi=8 --pp 2 --recompute full
threads=8 --zero 1 --checkpoint-writers-per-node 2
STARTS

# Checkpoints in other pieces: divided anew to and from layouts that cut layers, they have the same state, merge into the same model, and
# are resumed from with the same bits.
steady="steady --tp 2"
middle=$(last "$steady" 16 1)
merge() { dt-merge --quiet --with-optimizer "$1" --out "$2" >/dev/null || fail "dt-merge $1"; }
merge "$middle" middle.h5
for layout in dp=1 tp=2,dp=1 tp=4,pp=2,dp=1 tp=4,dp=2,zero=3 pp=4,dp=2,zero=1; do
  expect_exit 0 dt-checkpoint reshard --quiet "$middle" "at $layout" --layout "$layout"
  same_state "$middle" "at $layout"
  expect_exit 0 dt-checkpoint verify --quiet "at $layout"
  merge "at $layout" resharded.h5
  cmp middle.h5 resharded.h5 || fail "merged models differ: $layout"
  rm resharded.h5
done
for layout in dp=1 tp=4,dp=2,zero=3; do
  expect_exit 0 train_as threads=4 "on $layout" "${common[@]}" --steps 24 --resume "at $layout" --tp 2 --zero 1
  same_state "$(last "$steady" 24 1)" "$(last "on $layout" 24 1)"
done
dt-merge --quiet "$(last "$steady" 24 1)" --out weights >/dev/null || fail "dt-merge"

# Evaluated alone by any cut, and its logits: of one rank, but for rounding.
evaluate() { # KIND LOGITS OPTIONS...
  local alone=(dt-train --eval-only --quiet --json --data shards --sequence-length 32 --threads 1 --eval-batches 2
    --micro-batch 2 --logits-out "$2" --logits-sequences 3 "${@:3}")
  if [[ $1 == mpi=* ]]; then mpi "${1#mpi=}" "${alone[@]}"; else "${alone[@]}" --comm "$1"; fi
}
validation() { sed -E 's/.*"step":([0-9]+),.*"val_loss":([^,]+),.*/\1 \2/' "$1"; }
for from in "--run|$steady" "--init-from|weights" "--run|$steady|--mask-documents"; do
  IFS='|' read -ra from <<<"$from"
  evaluate self one.h5 "${from[@]}" >one.json || fail "evaluation"
  while read -r kind words; do
    read -ra words <<<"$words"
    expect_exit 0 evaluate "$kind" shared.h5 "${from[@]}" "${words[@]}"
    expect_close "$(validation stdout)" "$(validation one.json)" 1e-6 "evaluation of ${from[*]} with ${words[*]}"
    h5diff -d 1e-5 one.h5 shared.h5 logits || fail "logits of ${from[*]} with ${words[*]}"
    h5diff one.h5 shared.h5 tokens || fail "tokens of ${from[*]} with ${words[*]}"
    rm shared.h5
  done <<'EVALUATIONS'
threads=2 --tp 2
mpi=4 --tp 4 --sequence-parallel
threads=8 --tp 2 --pp 2 --sequence-parallel
threads=5 --tp 2
EVALUATIONS
done

# What else changes the bits: within rounding of one rank's, and at equal cuts alike.
num=0
while read -r bound cut words; do
  num=$((num + 1))
  read -ra words <<<"$words"
  read -ra cut <<<"${cut//+/ }"
  train "alone$num" "${common[@]}" --steps 10 "${words[@]}" >/dev/null || fail "one rank with ${words[*]}"
  expect_exit 0 train_as threads=2 "shared$num" "${common[@]}" --steps 10 "${cut[@]}" "${words[@]}"
  expect_close "$(losses "shared$num")" "$(losses "alone$num")" "$bound" "losses with ${words[*]}"
  expect_equal "$(digest_of "shared$num")" "$(digest_of "alone$num")" "data digests with ${words[*]}"
  expect_exit 0 train_as threads=8 "piped$num" "${common[@]}" --steps 10 "${cut[@]}" --pp 2 --zero 1 --recompute full "${words[@]}"
  same_state "$(last "shared$num" 10 1)" "$(last "piped$num" 10 1)"
done <<'WAYS'
1e-3 --tp+2 --precision bf16
1e-3 --tp+2+--sequence-parallel --precision bf16 --matmul fp32
1e-10 --tp+2 --precision fp64
1e-5 --tp+2+--sequence-parallel --mask-documents
1e-5 --tp+2 --init-from weights
WAYS
# fp16: the scale of a loss that overflows halves on all ranks, and their updates are left out.
sed 's/257/20000/' model.json >wide.json
overflow=(--quiet --model wide.json --precision fp16 --sequence-length 2 --global-batch 2 --micro-batch 1 --grad-lanes 2 --steps 4)
scales() { sed -nE 's/.*"loss_scale":([^,}]+).*/\1/p' "$1/metrics.jsonl"; }
expect_exit 0 train scaled "${overflow[@]}"
expect_match <(scales scaled) 32768
expect_exit 0 train_as threads=2 scaled2 "${overflow[@]}" --tp 2
expect_exit 0 train_as threads=4 scaled4 "${overflow[@]}" --tp 2 --zero 3 --sequence-parallel
for run in scaled2 scaled4; do expect_equal "$(scales $run)" "$(scales scaled)" "loss scales of $run"; done

# Saved on the node alone: brought together by ranks with the same cut, with the bits of a run that was not killed, and by others.
cut=(--tp 2 --sequence-parallel)
locally=("${common[@]:1}" --save-every 2 --checkpoint-local local --flush-every 1000)
start_training killed "${locally[@]}" "${cut[@]}" --steps 1000000 --comm threads=4 --zero 1
wait_for_step killed 7
# shellcheck disable=SC2154
kill -KILL "$trainer"
wait "$trainer" 2>/dev/null || true
[[ -z $(ls killed/checkpoints) ]] || fail "a local checkpoint is in the run directory"
cp -r killed kept && cp -r local local.kept
announced=$(sed -nE 's/.*"kind":"local_checkpoint","step":([0-9]+),.*/\1/p' killed/metrics.jsonl | tail -n 1)
end=$((announced + 6))
expect_exit 0 train_as threads=4 whole "${common[@]}" "${cut[@]}" --steps "$end"
expect_exit 0 train_as mpi=4 killed "${locally[@]}" "${cut[@]}" --steps "$end" --pp 2
expect_match stderr 'assembled killed/checkpoints/step-[0-9]+.g1 from the local checkpoints of the nodes'
same_state "$(last whole "$end" 1)" "$(last killed "$end" 2)"
rm -rf local killed && mv kept killed && mv local.kept local
expect_exit 0 train_as threads=8 killed "${locally[@]}" --steps "$end" --tp 4 --pp 2
expect_match stderr 'assembled killed/checkpoints/step-[0-9]+.g1 from the local checkpoints of the nodes'
expect_match stderr 'results will not be bit-identical to the earlier run: tp 2 → 4'
expect_close "$(losses killed | tail -n 4)" "$(losses whole | tail -n 4)" 1e-5 "losses behind local checkpoints"
