#!/usr/bin/env bash
# --encode-only prints the ids that a dataset would hold, a document a line, whatever the threads; as a filter it ends quietly
# when its reader goes away.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

printf 'abc\n--\n\n--\nde' >text
separator=(--document-separator '\n--\n')
expect_exit 0 dt-shard-data --encode-only "${separator[@]}" text
expect_equal "$(cat stdout)" $'97 98 99 256\n100 101 256'
expect_exit 0 dt-shard-data --encode-only --no-append-eos --json "${separator[@]}" <text
expect_equal "$(cat stdout)" $'{"ids":[97,98,99]}\n{"ids":[100,101]}'
expect_exit 0 dt-shard-data --encode-only </dev/null
expect_equal "$(cat stdout)" ''

for i in $(seq 60000); do
  printf 'document %d says ä%d\n--\n' "$i" $((i * i))
done >long
dt-shard-data --encode-only --quiet --threads 1 "${separator[@]}" long >one
expect_equal "$(wc -l <one)" 60000
dt-shard-data --encode-only --quiet --threads 3 "${separator[@]}" - < <(cat long) >three
cmp one three
dt-shard-data --out data --json --quiet --no-shuffle --val-fraction 0 "${separator[@]}" long >made
expect_equal "$(json_value made tokens)" "$(wc -w <one)"
# One document, in many chunks.
dt-shard-data --encode-only --quiet --json long >one
expect_equal "$(wc -l <one)" 1
expect_equal "$(tr -dc , <one | wc -c)" "$(wc -c <long)"

{
  code=0
  dt-shard-data --encode-only --quiet < <(yes) 2>stderr || code=$?
  echo "$code" >code
} | head -c 11 >stdout
expect_equal "$(cat stdout)" '121 10 121 '
expect_equal "$(cat code)" 141
expect_equal "$(cat stderr)" ''

printf 'one\ntw\xffo' >latin
expect_exit 3 dt-shard-data --encode-only latin
expect_match stderr 'latin:2: invalid UTF-8'
for option in '--seed 1' --shuffle '--val-fraction 0' '--shard-tokens 5' --overwrite; do
  # shellcheck disable=SC2086  # two words
  expect_exit 2 dt-shard-data --encode-only $option text
  expect_match stderr "${option%% *} cannot be combined with --encode-only"
done
