#!/usr/bin/env bash
# Without a launcher: one rank, which says how to start more.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

expect_exit 0 dt-allreduce-bench --help-all
for option in -o -b -e -f -i -n -w -d -r -c; do expect_match stdout "^  $option, --"; done
for option in backend csv json-file root timeout json device devices pairs slow-below min-bandwidth max-latency; do expect_match stdout "^ +--$option"; done
for later in baseline plot; do ! grep -q -- "$later" stdout || fail "--help-all lists $later"; done
expect_exit 0 dt-allreduce-bench --version; expect_match stdout "^dt-allreduce-bench [0-9]"

expect_exit 0 dt-allreduce-bench -e 1Ki -n 2
expect_match stderr "a single rank sends no messages.*mpirun -n 4 dt-allreduce-bench"
expect_match stdout "^# 1 rank on 1 host: "
expect_match stdout "^# all_reduce, backend dt"
expect_match stdout "^ +8 +2 +float +sum +-1 +[0-9.]+ +[0-9.]+ +0.00 +0 +[0-9.]+ +[0-9.]+ +0.00 +0$"
expect_match stdout "^# Out of bounds values : 0 OK"
expect_match stdout "^# Avg bus bandwidth    : 0"
expect_equal "$(grep -c '^ ' stdout)" 8 "rows from 8 bytes to 1 KiB"
expect_exit 0 dt-allreduce-bench -e 64 -n 2 --quiet; [[ ! -s stderr ]] || fail "--quiet speaks"

# All operations of dt alone.
expect_exit 0 dt-allreduce-bench -o all -e 64 -n 2 --quiet --json
expect_equal "$(grep -c '"kind":"result"' stdout)" 37
expect_equal "$(grep '"kind":"summary"' stdout | grep -c '"wrong":0')" 10

# Output that cannot be written.
for arguments in "-e 8" "-e 8 --json" "--help"; do
  code=0
  # shellcheck disable=SC2086
  dt-allreduce-bench $arguments >/dev/full 2>stderr || code=$?
  expect_equal "$code" 4 "exit of dt-allreduce-bench $arguments with a full stdout"
  expect_match stderr "standard output"
done
