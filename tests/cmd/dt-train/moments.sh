#!/usr/bin/env bash
# --moments bf16: AdamW's moments take half the memory and disk space. Losses are near those with fp32, and bits are equal in any layout and
# after any stop.
source "$(dirname "${BASH_SOURCE[0]}")/../layouts.sh"
make_shards shards

# dtypes RUN: prints "kind dtype" of the newest checkpoint's tensors.
dtypes() { dt-checkpoint show "$(dt-checkpoint latest "$1")" | awk '$2 ~ /^(weights|adam_[mv]|muon_m)$/ { print $2, $3 }' | sort -u | xargs; }

steady=(--schedule constant --grad-lanes 2 --save-every 3)
expect_exit 0 train wide --steps 12 "${steady[@]}"
expect_exit 0 train narrow --steps 12 "${steady[@]}" --moments bf16
expect_equal "$(dtypes wide)" "adam_m f32 adam_v f32 weights f32" "types with fp32 moments"
expect_equal "$(dtypes narrow)" "adam_m bf16 adam_v bf16 weights f32" "types with bf16 moments"
expect_close "$(losses narrow)" "$(losses wide)" 3e-3 "moments in bf16"
[[ $(losses narrow) != "$(losses wide)" ]] || fail "--moments changes no loss"
narrow=$(dt-checkpoint latest narrow)
expect_match "$narrow/manifest.json" '"state_dtypes": ?\{"adam_m":"bf16","adam_v":"bf16"\}'
if grep -q state_dtypes "$(dt-checkpoint latest wide)/manifest.json"; then fail "types that are the masters'"; fi

# A stop at any step, and another layout from there on, leave no trace. A resume needs no option.
start_training stopped --steps 12 "${steady[@]}" --moments bf16
wait_for_step stopped 4
# shellcheck disable=SC2154 # start_training sets it
kill -9 "$trainer"
wait "$trainer" || true
expect_exit 0 dt-train --run stopped --threads 1 --peak-flops 1e9 --steps 9 --comm threads=2 --zero 1
expect_exit 0 dt-train --run stopped --threads 1 --peak-flops 1e9 --steps 12
expect_same_model stopped narrow
expect_exit 0 dt-checkpoint diff "$narrow" "$(dt-checkpoint latest stopped)"
expect_equal "$(losses stopped)" "$(losses narrow)" "losses after a kill"

# Checkpoints with bf16 moments can be verified, resharded, repaired and exported like others.
expect_exit 0 dt-checkpoint verify "$narrow"
expect_exit 0 dt-checkpoint reshard "$narrow" resharded --layout dp=3,zero=1
expect_exit 0 dt-checkpoint diff "$narrow" resharded
cp -r resharded damaged
printf 'x' | dd of=damaged/rank-00000.h5 bs=1 seek=20000 conv=notrunc status=none
expect_exit 5 dt-checkpoint verify damaged
expect_exit 0 dt-checkpoint repair damaged --from resharded
expect_exit 0 dt-checkpoint diff "$narrow" damaged
expect_exit 0 dt-merge --quiet "$narrow" --out narrow.hf --format hf --with-optimizer
grep -q '"adam_v.model.norm.weight":{"dtype":"BF16"' narrow.hf/optimizer.safetensors || fail "moments that are not exported as stored"

# A resume with another type converts the moments, and reports that.
cp -r narrow changed
expect_exit 0 dt-train --run changed --threads 1 --peak-flops 1e9 --steps 13 --moments master
expect_match stderr 'optimizer state: adam_m is converted from bf16 to fp32'
expect_match stderr -- '--moments: bf16 → master'
expect_equal "$(dtypes changed)" "adam_m f32 adam_v f32 weights f32" "converted types"
expect_exit 0 dt-train --run changed --threads 1 --peak-flops 1e9 --steps 14 --moments bf16
expect_match stderr 'optimizer state: adam_v is converted from fp32 to bf16'
expect_equal "$(dtypes changed)" "adam_m bf16 adam_v bf16 weights f32" "types converted back"

# Bits are equal in any layout, also with Muon, whose momentum stays fp32.
for optimizer in "--optimizer adamw" "--optimizer muon --lr 2e-3"; do
  # shellcheck disable=SC2086 # words
  expect_exit 0 compare threads=4 "dp=1; pp=2,dp=1; dp=4,zero=1; dp=4,zero=2; dp=4,zero=3; pp=2,dp=2,zero=1" --micro-batch 1 \
    --global-batch 4 --steps 5 --json --moments bf16 $optimizer
  expect_equal "$(equal_layouts)" 6 "layouts with equal weights ($optimizer)"
  # shellcheck disable=SC2086
  expect_exit 0 compare threads=4 "tp=2,dp=1; tp=2,dp=2,zero=1; tp=2,dp=2,zero=3; tp=2,pp=2,dp=1" --micro-batch 1 --global-batch 2 \
    --steps 5 --json --moments bf16 --precision bf16 $optimizer
  expect_equal "$(equal_layouts)" 4 "layouts with equal weights under tp ($optimizer)"
done
expect_exit 0 train muon --steps 1 --optimizer muon --moments bf16
expect_equal "$(dtypes muon)" "adam_m bf16 adam_v bf16 muon_m f32 weights f32" "types with Muon"

# Plans count 4 bytes of moments for each parameter, and 4 + 4 bytes in checkpoints.
expect_exit 0 dt-train --model llama-tiny --steps 1 --dry-run --ranks 1 --moments bf16 --json
parameters=$(json_value stdout parameters)
expect_equal "$(($(json_value stdout optimizer_bytes) / parameters))" 4 "bytes of state"
expect_equal "$(json_value stdout checkpoint_bytes)" $((8 * parameters)) "bytes of a checkpoint"

expect_exit 2 dt-train --model llama-tiny --data shards --run refused --steps 1 --moments bf16 --precision fp64
expect_match stderr '--moments bf16 cannot be combined with --precision fp64'
expect_exit 2 dt-train --model llama-tiny --data shards --run refused --steps 1 --moments bf16 --optimizer lion
expect_match stderr "error: --moments needs --optimizer adamw or muon$"
expect_absent refused
