#!/usr/bin/env bash
# occupancy.sh [ARCHITECTURE] (default: sm_90): of each kernel for GPUs how many of the 64 warps that a processor may have at a time its
# registers leave room for, and how many registers a thread has; the fewest warps first. nvcc compiles them all for it, which takes minutes.
# What spills registers, or uses memory of a thread's own, nvcc refuses (libcore/kernels/cuda/cuda.cmake).
set -euo pipefail
architecture=${1:-sm_90}
libcore=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../libcore" && pwd)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
flags=(-std=c++20 -O3 --expt-relaxed-constexpr -DFMT_CONSTEVAL= -DFMT_USE_CONSTEXPR=1 "-I$libcore" "-arch=$architecture" -Xptxas=-v)

# Registers come in units of 256 a warp, of 65,536.
for source in "$libcore"/kernels/cuda/*.cu; do
  "$nvcc" "${flags[@]}" -cubin -o /dev/null "$source" 2>&1
done | c++filt | sed -E 's/\(anonymous namespace\):://g; s/(void )?dt::(kernels::cuda::)?//g' |
  awk -F "'" '/Compiling entry function/ {kernel = $2; sub(/\(.*/, "", kernel)}
    /Used [0-9]+ registers/ {
      match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
      warps = int(65536 / (int((registers * 32 + 255) / 256) * 256)); if (warps > 64) warps = 64
      printf "%2d of 64 warps, %3d registers  %s\n", warps, registers, kernel}' | sort -n
