#!/usr/bin/env bash
# Data that is cut while it is read ends the job with a message that names the file.
source "$(dirname "${BASH_SOURCE[0]}")/../lost_ranks.sh"
forever=(--steps 1000000 --schedule constant)
lost="train-00000.h5 on $(hostname): can no longer be read \(SIGBUS\): the file was truncated, or its file system is gone$"

for ranks in 1 2; do
  make_shards shards
  start "$ranks" "lost$ranks" "${forever[@]}"
  truncate -s 0 shards/train-00000.h5
  expect_over "the loss of a shard in a job of $ranks"
  expect_equal "$code" 4 "exit"
  expect_match launcher.err "error: shards/$lost"
  rm -r shards
done
make_shards shards
start_training threads "${forever[@]}" --comm threads=2
wait_for_step threads 3
truncate -s 0 shards/train-00000.h5
code=0
# shellcheck disable=SC2154
wait "$trainer" || code=$?
expect_equal "$code" 4 "exit"
