#!/usr/bin/env bash
# A signal ends the work, also while it waits for a pipe, and nothing is left.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

mkdir work
mkfifo pipe
for signal in INT TERM; do
  dt-shard-data --out work/data pipe 2>stderr &
  tool=$!
  exec 3>pipe
  echo 'some text' >&3
  for _ in $(seq 100); do
    [[ -n $(find work -name '.data.partial') ]] && break
    sleep 0.1
  done
  kill -s "$signal" "$tool"
  code=0
  wait "$tool" || code=$?
  exec 3>&-
  expect_equal "$code" $((128 + $(kill -l "$signal")))
  expect_match stderr "stopped by SIG$signal"
  expect_equal "$(ls -A work)" ""
done

# Also before the pipe has a writer.
for what in '--out work/data' --encode-only '--out work/data --input-list'; do
  # shellcheck disable=SC2086  # two words
  dt-shard-data $what pipe 2>stderr &
  tool=$!
  for _ in $(seq 100); do
    [[ -n $(find "/proc/$tool/fd" -lname '*/pipe' 2>/dev/null) ]] && break
    sleep 0.1
  done
  kill -s TERM "$tool"
  code=0
  wait "$tool" || code=$?
  expect_equal "$code" $((128 + $(kill -l TERM)))
  expect_match stderr "stopped by SIGTERM"
  expect_equal "$(ls -A work)" ""
done
