#!/usr/bin/env bash
# The recipe for a corpus without a network gives valid text, the same each time, and it becomes a dataset.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

recipe=$DT_TESTS/../datasets/debian-text.sh
command -v dpkg >/dev/null || skip "this is not Debian"
expect_exit 0 bash "$recipe" corpus 500000
expect_match stdout '^total +[0-9]+ bytes'
expect_exit 0 bash "$recipe" again 500000
diff -r corpus again
expect_exit 0 dt-shard-data --out data --json corpus
(($(json_value stdout tokens) > 500000)) || fail "too little text"
expect_exit 0 dt-shard-data --verify data

expect_exit 3 bash "$recipe" corpus
expect_match stderr 'corpus already exists'
expect_exit 2 bash "$recipe" other many
