#!/usr/bin/env bash
# CUDA=auto builds without GPUs where something that nvcc takes is missing, and says what; CUDA=on is refused. nvcc is not called.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
for program in cmake ninja; do
  [[ -n $(command -v $program) ]] || skip "takes $program"
done
mkdir -p cuda/bin cuda/lib64 cuda/include/nvtx3
printf '#!/bin/sh\nexit 1\n' >cuda/bin/nvcc
chmod +x cuda/bin/nvcc
touch cuda/lib64/libcudart_static.a cuda/include/cublasLt.h cuda/include/nvtx3/nvToolsExt.h

# configure auto|on
configure() {
  CUDA_PATH=$PWD/cuda cmake -S "$DT_TESTS/.." -B "build-$1" -G Ninja -DBUILD_TESTING=OFF -DCUDA="$1"
}
# is_for_gpus auto|on
is_for_gpus() { grep -q dt_kernels_cuda "build-$1/build.ninja"; }

expect_exit 0 configure on
is_for_gpus on || fail "CUDA=on builds nothing for GPUs"
expect_exit 0 configure auto
is_for_gpus auto || fail "CUDA=auto builds nothing for GPUs"

rm cuda/include/cublasLt.h
expect_exit 0 configure auto
expect_match stdout "CUDA=auto: nothing for GPUs is built: beside $PWD/cuda/bin/nvcc there is no cublasLt.h$"
if is_for_gpus auto; then fail "CUDA=auto builds what cannot be compiled"; fi
expect_exit 1 configure on
tr -s '\n ' ' ' <stderr >reason # CMake folds it
expect_match reason "CUDA=on: beside $PWD/cuda/bin/nvcc there is no cublasLt.h"

rm cuda/lib64/libcudart_static.a
expect_exit 0 configure auto
expect_match stdout "there is no libcudart_static.a and no cublasLt.h$"
expect_exit 1 configure on
