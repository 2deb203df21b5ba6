# Sourced by cases whose ranks' GPUs talk through NCCL.
# shellcheck shell=bash

# need_nccl RANKS: skips where NCCL does not take so many, of this machine.
need_nccl() {
  if [[ -z ${DT_GPU_TRAIN:-} ]]; then
    grep -q dt-stand-in "$(command -v dt-train-on-test-device)" || skip "there is no nccl.h, with which dt takes NCCL"
  else
    mpi "$1" "$DT_GPU_TRAIN" --device cuda --comm nccl --model llama-tiny --data shards --sequence-length 16 --steps 1 --run none --dry-run \
      >need_nccl 2>&1 || skip "$1 ranks: $(grep -m 1 error: need_nccl)"
  fi
}
