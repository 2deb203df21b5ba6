# Sourced by cases that train on a device: the test device, or where $DT_GPU_TRAIN says so, with another dt-train on a GPU.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/layouts.sh"

# What is compared with has no GPU.
on_cpu() {
  dt-train() { command dt-train "$@" --device cpu; }
}
on_cpu

# on_device COMMAND...: a helper of the other files, with the dt-train that has a device.
on_device() {
  # shellcheck disable=SC2317 # what is called calls it
  dt-train() { command "${DT_GPU_TRAIN:-dt-train-on-test-device}" "$@" --device cuda; }
  local result=0
  "$@" || result=$?
  on_cpu
  return $result
}

# small_model FILE FAMILY [TIED]: of two layers, with a vocabulary and an MLP that are odd.
small_model() {
  if [[ $2 == gpt2 ]]; then
    echo '{"model_type":"gpt2","vocab_size":259,"n_embd":32,"n_inner":67,"n_layer":2,"n_head":4,"n_positions":32,
      "tie_word_embeddings":'"${3:-true}"'}' >"$1"
  else
    echo '{"model_type":"'"$2"'","vocab_size":257,"hidden_size":32,"intermediate_size":66,"num_hidden_layers":2,"num_attention_heads":4,
      "num_key_value_heads":2,"max_position_embeddings":32,"sliding_window":7,"use_sliding_window":false,
      "tie_word_embeddings":'"${3:-false}"'}' >"$1"
  fi
}

# What ranks share a device for: every axis, schedules, sharding and lanes; see compare.
device_layouts='dp=1; dp=2; dp=4,zero=1; dp=2,zero=2; dp=2,zero=3; dp=1,recompute=full; dp=1,recompute=selective; pp=2,dp=1; pp=2,dp=2,zero=1;
  pp=2,dp=1,schedule=zero-bubble; tp=2,dp=1; tp=2,sp=on,dp=1; tp=2,sp=on,pp=2,dp=1,schedule=zero-bubble; tp=2,dp=2,zero=3; cp=2,dp=1; cp=2,tp=2,dp=1'

# compare_on_device FAMILY STEPS: all of them, each rank a thread, in fp32.
compare_on_device() {
  small_model "$1.json" "$1"
  on_device expect_exit 0 compare threads=4 "$device_layouts" --model "$1.json" --sequence-length 16 --global-batch 4 --micro-batch 1 \
    --steps "$2" --json
  expect_equal "$(grep -c '"holds":true' stdout)" 16 "layouts of $1 on a device"
}
