# Sourced by cases that make a package of the build and try what is in it.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
unset LD_LIBRARY_PATH
version=$("$DT_BUILD/bin/dt-train" --version | sed 's/^dt-train //')

# make_package GENERATOR NAME [OPTION...]: by cpack, in the folder packages; sets package. NAME is an extended regular expression.
make_package() {
  local program name=$2
  for program in cpack patchelf strip; do
    command -v "$program" >/dev/null || skip "a package takes $program, which is not installed"
  done
  expect_exit 0 cpack --config "$DT_BUILD/CPackConfig.cmake" -B "$PWD/packages" -G "$1" "${@:3}"
  package=$(find packages -maxdepth 1 -type f)
  [[ ${package##*/} =~ ^$name$ ]] || fail "the package is named ${package##*/}"
  if grep -i warning stdout stderr; then fail "cpack warns"; fi
}

# try_tools BIN: all tools of a folder, from text to a model.
try_tools() {
  local tool dt_bin=$1
  for tool in "$DT_BUILD"/bin/dt-{allreduce-bench,checkpoint,merge,shard-data,train}; do
    tool=${tool##*/}
    expect_exit 0 "$dt_bin/$tool" --version
    expect_equal "$(cat stdout)" "$tool $version"
  done
  seq 2000 >text
  expect_exit 0 "$dt_bin/dt-shard-data" --out shards text
  expect_exit 0 "$dt_bin/dt-train" --model llama-tiny --data shards --run run --steps 1 --sequence-length 16 --threads 1
  expect_exit 0 "$dt_bin/dt-checkpoint" verify run/checkpoints/step-*
  expect_exit 0 "$dt_bin/dt-merge" run/checkpoints/step-* --out model
  expect_exit 0 "$dt_bin/dt-allreduce-bench" -o all_reduce -b 1K -e 1K -n 1
}
