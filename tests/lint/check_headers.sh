#!/usr/bin/env bash
# check_headers.sh [--root DIR] [COMPILER_FLAGS...]: compiles every header of libcore and cmd alone, several at a time,
# and names those that do not stand alone. The flags are what third-party headers need; without any they are HDF5's and
# MPI's, as pkg-config knows them, and -fopenmp. CXX names the compiler. What it leaves lies in build/lint: ccache, where that
# is installed, knows files by their names.
# Exit codes: 0 all compile, 1 some do not, 2 usage.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [[ ${1:-} == --root ]]; then
  root=${2:?usage: check_headers.sh [--root DIR] [COMPILER_FLAGS...]}
  shift 2
fi
cd "$root"
[[ -d libcore ]] || {
  echo "check_headers.sh: $root has no libcore" >&2
  exit 2
}

if [[ $# -eq 0 ]]; then
  read -r -a flags < <(pkg-config --cflags hdf5 ompi-c 2>/dev/null || echo)
  set -- "${flags[@]}" -DOMPI_SKIP_MPICXX -fopenmp
fi

roots=(libcore)
[[ -d cmd ]] && roots+=(cmd)

compiler=("${CXX:-c++}")
if command -v ccache >/dev/null; then compiler=(ccache "${compiler[@]}"); fi
export compiler_words="${compiler[*]}"

# A file that only includes the header: a header that is compiled itself draws a warning on #pragma once.
check_one() {
  local header=$1 alone=build/lint/$1 messages
  shift
  mkdir -p "$(dirname "$alone")"
  echo "#include \"$header\"" >"$alone.cpp"
  # shellcheck disable=SC2086 # they are words
  if ! messages=$($compiler_words -c -std=c++20 -Wall -Wextra -Werror -Ilibcore -I. "$@" "$alone.cpp" -o "$alone.o" 2>&1); then
    printf '%s does not compile alone:\n%s\n' "$header" "$messages"
    return 1
  fi
}
export -f check_one

if ! find "${roots[@]}" -type f -name '*.hpp' -print0 | LC_ALL=C sort -z |
  xargs -0 -r -P "$(nproc)" -I{} bash -c 'check_one "$@"' check_one {} "$@"; then
  exit 1
fi
