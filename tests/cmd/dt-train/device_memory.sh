#!/usr/bin/env bash
# What --dry-run says that training takes of a GPU's memory is about what it takes at the most of a device's.
source "$(dirname "${BASH_SOURCE[0]}")/../device.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards
[[ -z ${DT_GPU_TRAIN:-} ]] || skip "counts are the test device's"
# Both have room for what products work in, with which the rest would not show.
workspace=$((32 << 20))

echo '{"model_type":"llama","vocab_size":1027,"hidden_size":96,"intermediate_size":256,"num_hidden_layers":4,"num_attention_heads":4,
  "num_key_value_heads":2,"max_position_embeddings":128,"tie_word_embeddings":false}' >llama.json
echo '{"model_type":"gpt2","vocab_size":1027,"n_embd":96,"n_layer":4,"n_head":4,"n_positions":128}' >gpt2.json

# expect_estimate NAME RANKS MODEL [options]
expect_estimate() {
  local estimate most
  arguments "$1" --model "$3.json" --device cuda --steps 2 --sequence-length 128 --global-batch 4 --micro-batch 2 --save-every 0 "${@:4}"
  DT_TEST_DEVICE_COUNTS=$PWD/counts mpi "$2" dt-train-on-test-device "${train_args[@]}" --dry-run --json >plan.json 2>/dev/null || fail "$1"
  rm -f counts*
  DT_TEST_DEVICE_COUNTS=$PWD/counts mpi "$2" dt-train-on-test-device "${train_args[@]}" >/dev/null 2>said || fail "$1"
  estimate=$(($(json_value plan.json gpu_memory_bytes) - $(json_value plan.json nccl_bytes) - workspace)) # the stand-in for NCCL takes none
  most=$(($(sed -E 's/.*allocations, ([0-9]+) bytes.*/\1/' counts* | sort -n | tail -1) - workspace))
  echo "$1: estimate $estimate, most $most"
  awk -v e="$estimate" -v m="$most" -v l="$least" 'BEGIN { exit !(e >= l * m && e <= 1.1 * m) }' ||
    fail "$1: $estimate bytes were to be allocated, and $most were"
  [[ $2 != 1 ]] || expect_match said "GPU memory of cuda:0: .* used, .* estimated \((0\.9[5-9]|1\.0)[0-9]* of the memory used\)"
}

least=0.95
expect_estimate alone 1 gpt2
expect_estimate llama 1 llama
expect_estimate bf16 1 llama --precision bf16
expect_estimate recompute 1 llama --recompute full
expect_estimate selective 1 llama --recompute selective
expect_estimate tensor 2 llama --tp 2
expect_estimate sequence 2 llama --tp 2 --sequence-parallel
expect_estimate pipeline 2 llama --pp 2
expect_estimate zero1 2 llama --zero 1
expect_estimate muon 1 llama --optimizer muon
expect_estimate muon1 2 llama --optimizer muon --zero 1
least=0.9 # a device keeps spares of what was gathered, whose sizes differ
expect_estimate zero3 2 llama --zero 3
