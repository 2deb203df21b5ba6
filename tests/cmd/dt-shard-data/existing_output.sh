#!/usr/bin/env bash
# A finished dataset is not touched without --overwrite, and nothing but a dataset is ever overwritten.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

echo one >one
echo two >two
expect_exit 0 dt-shard-data --out data one
before=$(cat data/dataset.json)
expect_exit 3 dt-shard-data --out data two
expect_match stderr 'data already exists; .*--overwrite'
expect_equal "$(cat data/dataset.json)" "$before"

expect_exit 3 dt-shard-data --out data --overwrite nowhere
expect_equal "$(cat data/dataset.json)" "$before"
expect_exit 0 dt-shard-data --out data --overwrite two
expect_exit 0 dt-shard-data --decode data/train-00000.h5:0:3
expect_equal "$(cat stdout)" two

mkdir home
echo precious >home/file
expect_exit 3 dt-shard-data --out home --overwrite one
expect_match stderr 'home is not a dataset'
expect_equal "$(cat home/file)" precious
expect_exit 3 dt-shard-data --out one --overwrite two
expect_equal "$(cat one)" one

mkdir empty
expect_exit 0 dt-shard-data --out empty one
expect_exit 0 dt-shard-data --out deep/er/data/ one
expect_exit 0 dt-shard-data --verify deep/er/data
expect_equal "$(find . -name '.*.tmp-*')" ""
