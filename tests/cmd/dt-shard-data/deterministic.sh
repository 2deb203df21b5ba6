#!/usr/bin/env bash
# The same text and options give the same data: again, with other threads, through a pipe, in shards of another size.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

for i in $(seq 20000); do
  printf 'document %d says ä%d\n--\n' "$i" $((i * i))
done >text
separator=(--document-separator '\n--\n' --json --quiet)

# digest_of NAME ARGUMENT...
digest_of() {
  expect_exit 0 dt-shard-data --out "$@" "${separator[@]}"
  expect_exit 0 dt-shard-data --verify "$1"
  json_value "$1/dataset.json" digest | sed -n 2p # after the tokenizer's
}

first=$(digest_of one --threads 1 text)
[[ $first =~ ^[0-9a-f]{16}$ ]] || fail "no digest: '$first'"
expect_equal "$(digest_of again --threads 1 text)" "$first"
expect_equal "$(digest_of four --threads 4 text)" "$first"
cmp one/dataset.json four/dataset.json
expect_equal "$(digest_of small --shard-tokens 10K text)" "$first"
[[ -e small/train-00060.h5 ]] || fail "too few shards"
expect_equal "$(digest_of pipe --threads 2 < <(cat text))" "$first"
expect_equal "$(digest_of seed0 --seed 0 text)" "$first"
[[ $(digest_of seed1 --seed 1 text) != "$first" ]] || fail "the seed has no effect"
[[ $(digest_of plain --no-shuffle text) != "$first" ]] || fail "shuffling has no effect"

expect_exit 0 dt-shard-data --decode plain/train-00000.h5:0:20
expect_equal "$(cat stdout)" 'document 1 says ä1<|endoftext|>'
expect_exit 0 dt-shard-data --decode one/train-00000.h5:0:9
expect_equal "$(cat stdout)" 'document '
