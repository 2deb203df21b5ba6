#!/usr/bin/env bash
# Training on a device: as on the CPU, the same bits again in whatever order the device works.
source "$(dirname "${BASH_SOURCE[0]}")/../device.sh"
make_shards shards
small=(--sequence-length 16 --global-batch 2 --micro-batch 1)

for family in gpt2 llama mistral qwen2; do
  small_model "$family.json" $family
  train "$family-cpu" --model "$family.json" "${small[@]}" --steps 6 --mask-documents 2>/dev/null
  on_device train "$family" --model "$family.json" "${small[@]}" --steps 6 --mask-documents 2>/dev/null
  expect_close "$(losses "$family")" "$(losses "$family-cpu")" 1e-5 "$family"
  expect_equal "$(digest_of "$family")" "$(digest_of "$family-cpu")" "data of $family"
done

# What computed, with its version, is known of a checkpoint.
expect_match gpt2/checkpoints/step-00000006*/manifest.json '"gpu_software": ?"[^"]+, (reference products|cuBLASLt [0-9.]+), (attention in loops|cuDNN [0-9.]+)"'
expect_match gpt2/checkpoints/step-00000006*/manifest.json '"gpu_products": ?\[\s*"f32 [^"]+: (in loops|algorithm [0-9]+, tile)'

for precision in fp64 bf16 fp16; do
  train "$precision-cpu" --model llama.json "${small[@]}" --steps 6 --precision $precision 2>/dev/null
  on_device train $precision --model llama.json "${small[@]}" --steps 6 --precision $precision 2>/dev/null
  bound=2e-3
  [[ $precision != fp64 ]] || bound=1e-12
  expect_close "$(losses $precision)" "$(losses "$precision-cpu")" $bound $precision
done

# Matrices that are updated whole.
for precision in fp32 bf16; do
  muon=(--model qwen2.json "${small[@]}" --steps 6 --optimizer muon --lr 2e-3 --precision "$precision")
  train muon-$precision-cpu "${muon[@]}" 2>/dev/null
  on_device train muon-$precision "${muon[@]}" 2>/dev/null
  bound=2e-3
  [[ $precision != fp32 ]] || bound=1e-4
  expect_close "$(losses muon-$precision)" "$(losses muon-$precision-cpu)" $bound "Muon in $precision"
done

# Products of fp32 in TF32.
on_device train tf32 --model gpt2.json "${small[@]}" --steps 6 --mask-documents --matmul tf32 2>/dev/null
expect_close "$(losses tf32)" "$(losses gpt2)" 1e-2 tf32
[[ -n ${DT_GPU_TRAIN:-} || $(losses tf32) != "$(losses gpt2)" ]] || fail "TF32 is not multiplied in"
on_device expect_exit 0 train tf32 --model gpt2.json "${small[@]}" --steps 7 --mask-documents --matmul auto
expect_match stderr 'matmul "cuda tf32" → "cuda"'

# In another order of work; in two parts; with blocks computed again.
DT_TEST_DEVICE_SEED=7 on_device train again --model llama.json "${small[@]}" --steps 6 --precision bf16 2>/dev/null
expect_same_model bf16 again
on_device train parts --model llama.json "${small[@]}" --steps 6 --precision bf16 --save-every 4 2>/dev/null
rm -r parts/checkpoints/step-00000006*
DT_TEST_DEVICE_SEED=8 on_device train parts --model llama.json "${small[@]}" --steps 6 --precision bf16 --resume auto 2>/dev/null
expect_same_model bf16 parts
for recompute in selective full; do
  on_device train $recompute --model llama.json "${small[@]}" --steps 6 --precision bf16 --recompute $recompute 2>/dev/null
  expect_same_model bf16 $recompute
done

# The host looks at the device once a step, and nothing is allocated there after the first ones. A step of two layers and two
# micro-batches is so many kernels, and so many copies and zeros: one more per layer and micro-batch is noticed. All but the optimizer's
# and what is between host and device is launched as a few graphs.
counts() { # FAMILY STEPS MICRO-BATCHES
  DT_TEST_DEVICE_COUNTS=$PWD/counts on_device train "counts-$1-$2-$3" --model "$1.json" --sequence-length 16 --global-batch "$3" --micro-batch 1 \
    --precision bf16 --steps "$2" >/dev/null 2>&1
  tr -dc '0-9 ' <counts
}
# expect_counts FAMILY MICRO-BATCHES LAUNCHES WITH KERNELS MOVES: of each step after the third: graphs, in which so many of the kernels
# and moves are; no graph is new.
expect_counts() {
  read -r few_reads few_allocations _ few_kernels few_moves few_graphs few_launches few_with _ <<<"$(counts "$1" 4 "$2")"
  read -r many_reads many_allocations _ many_kernels many_moves many_graphs many_launches many_with _ <<<"$(counts "$1" 11 "$2")"
  expect_equal $((many_reads - few_reads)) 7 "reads of seven steps of $1"
  expect_equal "$many_allocations" "$few_allocations" "allocations of $1"
  expect_equal "$many_graphs" "$few_graphs" "graphs of $1 with $2 micro-batches"
  expect_equal $(((many_launches - few_launches) / 7)) "$3" "graphs of a step of $1 with $2 micro-batches"
  expect_equal $(((many_with - few_with) / 7)) "$4" "kernels, copies and zeros in graphs of a step of $1 with $2 micro-batches"
  expect_equal $(((many_kernels - few_kernels) / 7)) "$5" "kernels of a step of $1 with $2 micro-batches"
  expect_equal $(((many_moves - few_moves) / 7)) "$6" "copies and zeros of a step of $1 with $2 micro-batches"
}
if [[ -z ${DT_GPU_TRAIN:-} ]]; then
  expect_counts gpt2 1 2 110 117 17
  expect_counts gpt2 2 3 203 202 25
  expect_counts gpt2 3 4 296 287 33
  expect_counts llama 2 3 158 149 23
fi

# Logits.
logits() { dt-train --eval-only --data shards --resume "$(dt-checkpoint latest parts)" --sequence-length 16 --global-batch 2 \
  --micro-batch 1 --eval-batches 1 --precision fp32 --threads 1 --logits-sequences 2 --logits-out "$1" 2>/dev/null; }
logits cpu.h5 >/dev/null
on_device logits device.h5 >/dev/null
h5diff -d 1e-5 cpu.h5 device.h5 || fail "logits differ"
