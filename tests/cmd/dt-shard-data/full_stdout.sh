#!/usr/bin/env bash
# Where standard output cannot be written, the tool says so and ends with 4; a dataset is whole or not there.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

[[ -w /dev/full ]] || skip "there is no /dev/full"
echo text >in
# unwritable ARGUMENT...
unwritable() {
  local code=0
  dt-shard-data "$@" >/dev/full 2>stderr || code=$?
  expect_equal "$code" 4
  expect_match stderr 'standard output.*No space left'
}
unwritable --out data in
expect_exit 0 dt-shard-data --verify data
unwritable --show data
unwritable --show data --json
unwritable --verify data
unwritable --decode data/train-00000.h5:0:2
unwritable --encode-only in
unwritable --help
unwritable --version

# Closed standard streams: reading one is an error, and output goes to no other file.
expect_exit 4 timeout 20 dt-shard-data --out none <&-
expect_match stderr 'cannot read standard input'
expect_absent none
