#!/usr/bin/env bash
# toolkits.sh [FOLDER]: tries the .cu files beside other versions of CUDA than this machine's, from PyPI's packages, without a GPU:
#   builds them with nvcc 13.0.48, the oldest of CUDA 13, and with the newest;
#   has clang read them (-fsyntax-only) beside the headers of CUDA 12.4. That does not show what nvcc 12.4 makes of them.
# FOLDER (default: build/toolkits) keeps the packages, 2 GB of them. Exit codes: 0 ok, 1 a file was refused, 77 something is missing: it says
# what.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=${1:-$top/build/toolkits}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

skip() {
  echo "SKIP: $1"
  exit 77
}
for tool in cmake ninja python3 clang++-16; do
  command -v "$tool" >/dev/null || skip "there is no $tool"
done

# fetch NAME PACKAGES...: into $folder/NAME, without what no compiler reads.
fetch() {
  [[ ! -e $folder/$1.done ]] || return 0
  echo "fetching $1" >&2
  rm -rf "${folder:?}/$1"
  [[ -e $folder/venv/bin/pip ]] || python3 -m venv "$folder/venv" || skip "python3 makes no venv"
  "$folder/venv/bin/pip" install --quiet --retries 2 --disable-pip-version-check --no-deps --only-binary :all: --target "$folder/$1" "${@:2}" ||
    skip "pip does not find ${*:2}"
  find "$folder/$1" -name 'lib*.so*' ! -name 'libnvvm*' -delete
  # 13.0.48 has the compiler where its nvcc does not look.
  if [[ -e $folder/$1/nvidia/cu13/bin/cicc ]]; then install -D "$folder/$1/nvidia/cu13/bin/cicc" "$folder/$1/nvidia/cu13/nvvm/bin/cicc"; fi
  touch "$folder/$1.done"
}

# build NAME: every .cu file, by the command that CMake has for it.
build() {
  local build=$folder/build-$1 object objects
  cmake -S "$top" -B "$build" -G Ninja -DBUILD_TESTING=OFF -DCUDA=on -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
    -DNVCC="$folder/$1/nvidia/cu13/bin/nvcc" >"$folder/$1.log" 2>&1 ||
    { tail -n 5 "$folder/$1.log" && return 1; }
  mapfile -t objects < <(ninja -C "$build" -t targets all | sed -nE 's|^(cuda/[^/]+\.cu\.o): CUSTOM_COMMAND$|\1|p')
  for object in "${objects[@]}"; do printf '%s\0' "$(ninja -C "$build" -t commands -s "$object")"; done |
    xargs -0 -n 1 -P "$(nproc)" bash -c >"$folder/$1.log" 2>&1 || { grep -E 'error|warning' "$folder/$1.log" | head -n 40 && return 1; }
  echo "$("$folder/$1/nvidia/cu13/bin/nvcc" --version | sed -nE 's/.*release.*, V/nvcc /p') builds ${#objects[@]} files"
}

# read_by_clang NAME: every .cu file.
read_by_clang() {
  local cuda=$folder/$1/cuda include sources file status=0
  mkdir -p "$cuda"/{bin,include,lib64,nvvm/libdevice} # by which clang knows a toolkit
  for include in "$folder/$1"/nvidia/*/include; do cp -rsf "$include" "$cuda/"; done
  mapfile -t sources < <(find "$top"/libcore/{kernels,tensor}/cuda -name "*.cu" | sort)
  for file in "${sources[@]}"; do
    clang++-16 -x cuda --cuda-path="$cuda" -nocudalib --cuda-gpu-arch=sm_90 -fsyntax-only -std=c++20 -Wno-unknown-cuda-version \
      -DFMT_CONSTEVAL= -DFMT_USE_CONSTEXPR=1 -I"$top/libcore" "$file" || status=1
  done
  ((status == 0)) && echo "clang reads ${#sources[@]} files beside CUDA $(sed -nE 's/^#define CUDA_VERSION ([0-9]+)0([0-9])0$/\1.\2/p' "$cuda/include/cuda.h")"
  return "$status"
}

status=0
fetch 12.4 nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-nvcc-cu12==12.4.131 nvidia-cuda-cccl-cu12==12.4.127.post1 nvidia-cublas-cu12==12.4.5.8 \
  nvidia-nvtx-cu12==12.4.127
read_by_clang 12.4 || status=1
fetch newest nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cublas nvidia-nvtx
build newest || status=1
fetch oldest nvidia-cuda-nvcc==13.0.48 nvidia-cuda-crt==13.0.48 nvidia-nvvm==13.0.48 nvidia-cuda-runtime==13.0.48 nvidia-cuda-cccl==13.0.50 \
  nvidia-cublas==13.0.0.19 nvidia-nvtx==13.0.39
build oldest || status=1
exit "$status"
