#!/usr/bin/env bash
# What nvcc made of dt's kernels for GPUs is what tests/gpu/sass_bounds.txt says of each: registers, vector accesses, instructions for what
# is moved; and none has memory of a thread's own, loads of unknown memory, or loops in place of atomics.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
compgen -G "$DT_BUILD/cuda/*.cu.o" >/dev/null || skip "takes kernels that nvcc compiled"
nvcc_bin=$(dirname "$(realpath "$(command -v nvcc || echo "${CUDA_PATH:-/usr/local/cuda}/bin/nvcc")")")
if [[ ! -x $nvcc_bin/cuobjdump ]]; then
  message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python-cuda" requirements-cuda.txt 2>&1) || skip "needs cuobjdump: $message"
  nvcc_bin=$(dirname "$(find "$DT_BUILD/python-cuda/lib" -name cuobjdump -type f | head -n 1)")
fi
export PATH=$nvcc_bin:$PATH

expect_exit 0 python3 "$DT_TESTS/python/check_sass.py" "$DT_BUILD/cuda" "$DT_TESTS/gpu/sass_bounds.txt"
mkdir one
cp "$DT_BUILD/cuda/activation.cu.o" one
grep '^swiglu\|^gelu_backward' "$DT_TESTS/gpu/sass_bounds.txt" >bounds
expect_exit 1 python3 "$DT_TESTS/python/check_sass.py" one bounds
expect_match stdout '^gelu_elements<BFloat16> \(activation.cu.o, sm_[0-9]*\): has no row in bounds; add: '
