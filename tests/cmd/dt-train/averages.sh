#!/usr/bin/env bash
# --ema: the average of the weights, in evaluations, checkpoints and exports, in any layout and after any stop.
source "$(dirname "${BASH_SOURCE[0]}")/../layouts.sh"
make_shards shards

# values RUN FIELD: prints the step and the field of all evaluations that count.
values() { counted "$1" | sed -nE "s/.*\"kind\":\"eval\",\"step\":([0-9]+),.*\"$2\":([-0-9.e]+)[,}].*/\1 \2/p"; }
again() { dt-train --threads 1 --peak-flops 1e9 --run "$@"; }

steady=(--schedule constant --grad-lanes 2 --save-every 3 --eval-every 4 --lr 3e-3)
expect_exit 0 train plain --steps 12 "${steady[@]}"
expect_exit 0 train averaged --steps 12 "${steady[@]}" --ema 0.8
# The average changes nothing else, although evaluations compute with it.
expect_same_model plain averaged
expect_equal "$(losses averaged)" "$(losses plain)" "losses beside an average"
expect_equal "$(values averaged val_loss)" "$(values plain val_loss)" "validation losses beside an average"
expect_equal "$(values plain ema_val_loss)" "" "averages without --ema"
expect_equal "$(values averaged ema_val_loss | wc -l)" 3 "evaluations of the average"
# It lags behind the weights, so its loss is higher.
paste -d ' ' <(values averaged ema_val_loss) <(values averaged val_loss) | awk '!($2 > $4) { exit 1 }' || fail "the average does not lag"

# A kill, other layouts and a resume without options leave no trace in the weights and in the average.
start_training stopped --steps 12 "${steady[@]}" --ema 0.8
wait_for_step stopped 5
# shellcheck disable=SC2154 # start_training sets it
kill -9 "$trainer"
wait "$trainer" || true
expect_exit 0 again stopped --steps 9 --comm threads=2 --zero 1
expect_exit 0 again stopped --steps 12
newest=$(dt-checkpoint latest averaged)
expect_exit 0 dt-checkpoint diff "$newest" "$(dt-checkpoint latest stopped)"
expect_equal "$(values stopped ema_val_loss | grep -v '^9 ')" "$(values averaged ema_val_loss)" "losses of the average after a kill"

# --eval-only, dt-merge --ema, and the one compared with the other.
evaluated() { dt-train --quiet --json --eval-only --data shards --sequence-length 32 --threads 1 --eval-batches 1 --global-batch 8 --micro-batch 2 "$@"; }
expect_exit 0 evaluated --run averaged
expect_equal "12 $(json_value stdout ema_val_loss)" "$(values averaged ema_val_loss | tail -n 1)" "the average's loss by --eval-only"
expect_equal "12 $(json_value stdout val_loss)" "$(values averaged val_loss | tail -n 1)" "the loss by --eval-only"
expect_exit 0 dt-merge --quiet "$newest" --ema --out ema.hf
expect_exit 0 evaluated --init-from ema.hf
expect_equal "12 $(json_value stdout val_loss)" "$(values averaged ema_val_loss | tail -n 1)" "the exported average's loss"
if grep -q ema_val_loss stdout; then fail "an average of a model without one"; fi
expect_exit 0 dt-merge --quiet "$newest" --ema --out ema.h5 --with-optimizer
expect_exit 3 dt-merge --quiet "$(dt-checkpoint latest plain)" --ema --out none.hf
expect_match stderr 'has no average of its weights'
expect_absent none.hf
# --init-from takes the weights, whatever lies beside them.
expect_exit 0 train begun --steps 1 --lr 0 --init-from "$newest"
expect_equal "$(values begun val_loss | cut -d ' ' -f 2)" "$(values averaged val_loss | tail -n 1 | cut -d ' ' -f 2)" "the loss of a new run's weights"

# A resume takes another decay, begins a new average with the weights, or drops the average. It reports each change.
cp -r averaged changed
expect_exit 0 again changed --steps 13 --ema 0.5
expect_match stderr 'optimizer state: the decay of the average of the weights was 0.8 and is now 0.5'
expect_exit 0 again changed --steps 14 --ema 0
expect_match stderr 'optimizer state: the average of the weights \(--ema 0.5\) is dropped'
if dt-checkpoint show "$(dt-checkpoint latest changed)" | awk '$2 == "ema" { found = 1 } END { exit !found }'; then fail "a dropped average"; fi
expect_exit 0 again changed --steps 15 --lr 0 --ema 0.9
expect_match stderr 'optimizer state: the average of the weights \(--ema 0.9\) begins with the weights of step 14'
dt-merge --quiet "$(dt-checkpoint latest changed)" --ema --out begins.h5 || fail "dt-merge --ema"
cmp begins.h5 "$(merged changed)" || fail "an average that does not begin with the weights"

# The average has equal bits in any layout: comparisons gather it, too. 16-bit weights are rounded from it, and then restored.
expect_exit 0 compare threads=4 "dp=1; pp=2,dp=1; dp=4,zero=1; dp=4,zero=3; pp=2,dp=2,zero=1" --micro-batch 1 --global-batch 4 --steps 4 \
  --json --ema 0.8
expect_equal "$(equal_layouts)" 5 "layouts with equal weights and averages"
short=(--steps 4 --schedule constant --grad-lanes 2 --micro-batch 1 --global-batch 2 --eval-every 2 --ema 0.8 --optimizer muon --lr 2e-3)
for precision in fp32 bf16; do
  expect_exit 0 train "one_$precision" "${short[@]}" --precision $precision --matmul fp32
  for layout in "--zero 3" "--pp 2 --zero 1"; do
    name=${precision}_${layout//[^a-z0-9]/_}
    # shellcheck disable=SC2086 # words
    expect_exit 0 train "$name" "${short[@]}" --precision $precision --matmul fp32 --comm threads=2 $layout
    expect_same_model "one_$precision" "$name"
    expect_equal "$(values "$name" ema_val_loss)" "$(values "one_$precision" ema_val_loss)" "losses of the average, $name"
  done
done
# A tied table that two stages hold.
sed 's/"tie_word_embeddings": *false/"tie_word_embeddings": true/' <(dt-merge --quiet "$newest" --out shape.hf && cat shape.hf/config.json) >tied.json
for ranks in 1 2; do
  expect_exit 0 train "tied_$ranks" "${short[@]}" --model tied.json --comm threads=$ranks --pp $ranks
done
expect_same_model tied_1 tied_2
expect_equal "$(values tied_2 ema_val_loss)" "$(values tied_1 ema_val_loss)" "losses of the average of a tied table"
expect_exit 0 train tensor "${short[@]}" --comm threads=2 --tp 2
expect_close "$(values tensor ema_val_loss)" "$(values one_fp32 ema_val_loss)" 1e-4 "losses of the average under tp"

# Plans count the average.
expect_exit 0 dt-train --model llama-tiny --steps 1 --dry-run --ranks 1 --ema 0.9 --json
expect_equal "$(($(json_value stdout optimizer_bytes) / $(json_value stdout parameters)))" 12 "bytes of state"
expect_equal "$(json_value stdout checkpoint_bytes)" $((16 * $(json_value stdout parameters))) "bytes of a checkpoint"

for decay in 1 -0.1; do
  expect_exit 2 train refused --steps 1 --ema $decay
  expect_match stderr '--ema'
done
expect_absent refused
