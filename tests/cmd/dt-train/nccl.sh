#!/usr/bin/env bash
# Ranks whose GPUs talk through NCCL: the bits of messages in every layout, its own order where that is asked for, and an end in good
# order where it fails.
# What follows is long to follow.
# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/../nccl_layouts.sh"
make_shards shards
need_nccl 4
small_model llama.json llama
small=(--data shards --model llama.json --sequence-length 16 --global-batch 4 --micro-batch 1)

expect_bits_of_messages 2 \
  'dp=2; dp=4,zero=1; dp=2,zero=3; pp=2,dp=2,zero=1; pp=2,dp=2,zero=3; pp=2,dp=1,schedule=zero-bubble; tp=2,sp=on,dp=2; cp=2,tp=2,dp=1' 8

# Matrices that are updated whole.
small+=(--optimizer muon)
expect_bits_of_messages 2 'dp=2; dp=4; dp=4,zero=1; pp=2,dp=2,zero=3; tp=2,dp=2,zero=1' 5
unset "small[-1]" "small[-1]"

# Stages of one block each, whose libraries load kernels when each is first needed: no rank waits for itself, and what a rank computes
# before its first receive leaves no trace.
echo '{"model_type":"gpt2","vocab_size":259,"n_embd":32,"n_inner":67,"n_layer":4,"n_head":4,"n_positions":32}' >deep.json
small=("${small[@]/llama.json/deep.json}")
DT_TEST_DEVICE_LOADING=libraries expect_bits_of_messages 2 'pp=3,dp=1; pp=4,dp=1; pp=4,dp=1,schedule=zero-bubble' 3
small=("${small[@]/deep.json/llama.json}")

# From its first step on a pipeline allocates no memory of GPUs while receives may wait, and none later; nor does it free any in a save.
# memory_calls STEPS OPTIONS...: how often each rank did.
memory_calls() {
  rm -rf calls*
  DT_TEST_DEVICE_COUNTS=$PWD/calls on_gpus 4 nccl --steps "$1" --save-every 1 --eval-batches 1 --run calls-run "${@:2}" >/dev/null 2>&1
  grep -oE '[0-9]+ (allocations( in lists)?|frees|(un)?pinnings)' calls calls.*
}
if [[ -z ${DT_GPU_TRAIN:-} ]]; then
  for options in '--pp 2 --zero 1 --pp-schedule zero-bubble' '--pp 2 --zero 3 --precision bf16 --reduce-dtype bf16 --recompute full' \
    '--pp 2 --tp 2 --recompute selective --precision fp16' '--pp 2 --zero 1 --optimizer muon'; do
    # shellcheck disable=SC2086 # several
    few=$(memory_calls 3 $options)
    expect_equal "$(grep -c ':0 allocations in lists$' <<<"$few")" 4 "ranks that allocate nothing in lists of $options: $few"
    # shellcheck disable=SC2086
    expect_equal "$(memory_calls 5 $options)" "$few" "what five steps of $options allocate and free, and three"
  done
fi

# The same weights, to the bit; and in NCCL's order others, which is known of the checkpoint.
for comm in mpi nccl; do on_gpus 4 $comm --steps 3 --run $comm >/dev/null 2>&1; done
expect_same_model mpi nccl
expect_exit 0 on_gpus 4 nccl --steps 3 --run free --reduce-order free
expect_match free/checkpoints/step-00000003*/manifest.json '"reduce_order": ?"NCCL [0-9.]+"'
expect_close "$(losses free)" "$(losses nccl)" 1e-5 "in NCCL's order"

# What is asked for and cannot be.
expect_exit 2 mpi 2 "${DT_GPU_TRAIN:-dt-train-on-test-device}" "${small[@]}" --device cpu --comm nccl --steps 1 --run none
expect_match stderr '--comm nccl needs ranks on GPUs'
expect_exit 2 on_gpus 2 mpi --steps 1 --run none --reduce-order free
expect_match stderr '--reduce-order free needs NCCL'
[[ -z ${DT_GPU_TRAIN:-} ]] || exit 0 # what follows is played
DT_TEST_DEVICE_GPUS=1 expect_exit 4 on_gpus 2 nccl --steps 1 --run none
expect_match stderr 'ranks 0 and 1 on .* share the GPU .*, but NCCL [0-9.]+ supports one rank per GPU'

# An error that NCCL meets meanwhile, and an operation that hangs, on one of two ranks.
ranks=(dt-train-on-test-device "${small[@]}" --device cuda --comm nccl --steps 5 --comm-timeout 2s)
expect_exit 4 mpi 1 env DT_TEST_NCCL_ERROR=9 "${ranks[@]}" --run error : -n 1 "${ranks[@]}" --run error
expect_match stderr 'cuda:[01]: [a-zA-Z ]+: unhandled system error'
expect_exit 4 mpi 1 env DT_TEST_NCCL_HANG=9 "${ranks[@]}" --run hang : -n 1 "${ranks[@]}" --run hang
expect_match stderr 'of group [a-z ]+ \(step [0-9]+, [0-9.]+ [A-Za-z]+\) did not complete within 2.0 s'
