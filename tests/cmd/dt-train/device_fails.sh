#!/usr/bin/env bash
# A device that fails, or hangs, ends training with exit 4 and its name, whatever ranks wait for.
source "$(dirname "${BASH_SOURCE[0]}")/../device.sh"
[[ -z ${DT_GPU_TRAIN:-} ]] || skip "no GPU fails when it is told to"
make_shards shards
small_model llama.json llama
small=(--model llama.json --sequence-length 16 --global-batch 2 --micro-batch 1 --steps 4)

# The 5th kernel, one of the first step's, one of a later step's.
for kernel in 5 60 400; do
  for layout in threads=1 threads=2; do
    DT_TEST_DEVICE_ERROR=$kernel on_device expect_exit 4 train "error-$kernel-$layout" "${small[@]}" --comm $layout
    expect_match stderr 'cuda:[01] \(test device\): a kernel has failed'
    DT_TEST_DEVICE_HANG=$kernel on_device expect_exit 4 train "hang-$kernel-$layout" "${small[@]}" --comm $layout --comm-timeout 2
    expect_match stderr 'cuda:[01] \(test device\): [a-z ]+ did not complete within [0-9.]+ s'
  done
done

# One of two processes: the other is not waited for.
ranks=(dt-train-on-test-device --data shards --device cuda --comm mpi --comm-timeout 2s "${small[@]}")
for fault in ERROR HANG; do
  expect_exit 4 mpi 1 env DT_TEST_DEVICE_$fault=60 "${ranks[@]}" --run "mpi-$fault" : -n 1 "${ranks[@]}" --run "mpi-$fault"
  expect_match stderr 'cuda:0 \(test device\): (a kernel has failed|[a-z ]+ did not complete within)'
done
