#!/usr/bin/env bash
# On a device: bf16 moments and the average of the weights are near those of the CPU. Bits are equal after a resume and in another layout.
source "$(dirname "${BASH_SOURCE[0]}")/../device.sh"
make_shards shards
small_model llama.json llama
small=(--model llama.json --sequence-length 16 --global-batch 2 --micro-batch 1 --grad-lanes 2 --schedule constant --eval-every 3 --ema 0.7
  --moments bf16)
averages() { counted "$1" | sed -nE 's/.*"kind":"eval","step":([0-9]+),.*"ema_val_loss":([-0-9.e]+)[,}].*/\1 \2/p'; }

for precision in fp32 bf16; do
  train "$precision-cpu" "${small[@]}" --steps 6 --precision $precision 2>/dev/null
  on_device train $precision "${small[@]}" --steps 6 --precision $precision 2>/dev/null
  expect_equal "$(averages $precision | wc -l)" 2 "evaluations of the average in $precision"
  expect_close "$(averages $precision)" "$(averages "$precision-cpu")" 2e-3 "the average's losses in $precision"
  expect_close "$(losses $precision)" "$(losses "$precision-cpu")" 2e-3 "losses in $precision"

  on_device train "$precision-halves" "${small[@]}" --steps 3 --precision $precision 2>/dev/null
  on_device train "$precision-halves" "${small[@]}" --steps 6 --precision $precision --comm threads=2 --zero 1 2>/dev/null
  expect_same_model $precision "$precision-halves"
  expect_equal "$(averages "$precision-halves")" "$(averages $precision)" "the average's losses after a resume in $precision"
done

# A tied table whose ends are on two stages: each evaluation of the average exchanges the weights with it in fp32, casts it in bf16, and sends
# the table from the stage that has its state.
small_model tied.json llama true
for precision in fp32 bf16; do
  for stages in 1 2; do
    on_device train "tied-$precision-$stages" "${small[@]}" --model tied.json --steps 6 --precision $precision --comm threads=$stages \
      --pp $stages 2>/dev/null
  done
  expect_same_model "tied-$precision-1" "tied-$precision-2"
  expect_equal "$(averages "tied-$precision-2" | wc -l)" 2 "evaluations of the average of a tied table in $precision"
  expect_equal "$(averages "tied-$precision-2")" "$(averages "tied-$precision-1")" "losses of the average of a tied table in $precision"
done
