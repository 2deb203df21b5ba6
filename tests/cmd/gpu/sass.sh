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

# Each bound, and each fault, is found where a kernel breaks it.
mkdir one altered
cp "$DT_BUILD/cuda/activation.cu.o" one
check_one() { python3 "$DT_TESTS/python/check_sass.py" one bounds; }
kernel='activation_elements<Gelu, BFloat16>' said='activation_elements<Gelu, BFloat16> \(activation.cu.o, sm_[0-9]*\):'
grep 'activation_' "$DT_TESTS/gpu/sass_bounds.txt" >all
with_row() { grep -vF "$kernel" all >bounds || true; [[ $# = 0 ]] || printf '%s  %s  %s  %s\n' "$kernel" "$@" >>bounds; }
with_row
expect_exit 1 check_one
expect_match stdout "^$said has no row in bounds; add: "
with_row - - -
expect_exit 0 check_one
with_row 1 - -
expect_exit 1 check_one
expect_match stdout "^$said [0-9]+ registers, of which it may have 1$"
with_row - 99 -
expect_exit 1 check_one
expect_match stdout "^$said [0-9]+ vector accesses in its loop, of which it is to have 99$"
with_row - - 0.5
expect_exit 1 check_one
expect_match stdout "^$said [0-9.]+ instructions for 16 bytes, of which it may have 0.5$"

with_row - - -
real=$(command -v cuobjdump)
export PATH=$PWD/altered:$PATH
# alter EXPRESSION: from now on cuobjdump tells of kernels that sed makes so.
alter() {
  printf '#!/usr/bin/env bash\nset -o pipefail\n"%s" "$@" | sed -E "%s"\n' "$real" "$1" >altered/cuobjdump
  chmod +x altered/cuobjdump
}
alter ''
expect_exit 0 check_one
alter 's/\bSTG\./STL./'
expect_exit 1 check_one
expect_match stdout "^$said memory of a thread's own: STL\."
alter 's/\bLDG\./LD./'
expect_exit 1 check_one
expect_match stdout "^$said accesses to any memory: LD\."
alter 's/\bSTG\.E/ATOMG.CAS.E/'
expect_exit 1 check_one
expect_match stdout "^$said compare-and-swap: ATOMG\.CAS\."
alter 's/ STACK:0/ STACK:16/'
expect_exit 1 check_one
expect_match stdout "^$said 16 bytes of stack$"
