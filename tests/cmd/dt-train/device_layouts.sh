#!/usr/bin/env bash
# Layouts of ranks that share a device train the same there, bit for bit where that is promised.
source "$(dirname "${BASH_SOURCE[0]}")/../device.sh"
make_shards shards
compare_on_device gpt2 3
compare_on_device qwen2 2

# Muon updates whole matrices: their owners gather and return them, over all axes.
on_device expect_exit 0 compare threads=4 'dp=1; dp=4; dp=3,zero=2; dp=2,zero=3; pp=2,dp=2,zero=1; tp=2,dp=2,zero=1; cp=2,tp=2,dp=1' \
  --model qwen2.json --optimizer muon --sequence-length 16 --global-batch 4 --micro-batch 1 --steps 2 --json
expect_equal "$(grep -c '"holds":true' stdout)" 7 "layouts with Muon on a device"

# Documents and windows of sequences that ranks divide are the library's in 16 bits. What it has no kernel for is told once, by rank 0.
small_model mistral.json mistral
masked=(--model mistral.json --sequence-length 16 --global-batch 2 --micro-batch 1 --steps 3 --precision bf16 --mask-documents)
on_device expect_exit 0 train alone "${masked[@]}" --comm threads=1
on_device expect_exit 0 train divided "${masked[@]}" --comm threads=2 --cp 2
! grep 'attention uses slower kernels:' stderr || fail "slower kernels attend to documents that ranks divide"
expect_close "$(losses divided)" "$(losses alone)" 2e-3 "documents that ranks divide"
if [[ -z ${DT_GPU_TRAIN:-} ]]; then # cuDNN has wider ones on some GPUs
  echo '{"model_type":"gpt2","vocab_size":259,"n_embd":136,"n_layer":1,"n_head":1,"n_positions":32}' >wide.json
  on_device expect_exit 0 train wide --model wide.json --sequence-length 16 --global-batch 2 --micro-batch 1 --steps 2 --precision bf16 --comm threads=2
  expect_equal "$(grep -c 'attention uses slower kernels: the test device has no kernel for heads of 136' stderr)" 1 "notices of heads of 136"
fi
on_device expect_exit 0 train exact --model mistral.json --sequence-length 16 --global-batch 2 --micro-batch 1 --steps 1 --comm threads=1
expect_equal "$(grep -c 'attention uses dt.s own kernels, .*: cuDNN supports bf16 and fp16 only, not fp32' stderr)" 1 "notices of fp32"
