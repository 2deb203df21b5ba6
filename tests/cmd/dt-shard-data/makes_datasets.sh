#!/usr/bin/env bash
# Files, folders, standard input, JSON lines and separators become datasets that read back as what went in.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

mkdir -p in/sub
printf 'first\n' >in/a.txt
printf '{"text": "second \\u00e4"}\n\n{"id": 7, "text": "third"}\n' >in/b.jsonl
printf 'fourth\n\n\nfifth' >in/sub/c.txt
printf 'hidden' >in/.d
: >in/sub/empty.txt
plain=(--no-shuffle --val-fraction 0 --quiet)
text=$'first\n<|endoftext|>second ä<|endoftext|>third<|endoftext|>fourth\n\n\nfifth<|endoftext|>'

# reads_as DATASET TEXT
reads_as() {
  local count
  count=$(json_value made "tokens")
  expect_exit 0 dt-shard-data --decode "$1/train-00000.h5:0:$count"
  [[ $(cat stdout) == "$2" ]] || fail "$1 reads as '$(cat stdout)'"
}

expect_exit 0 dt-shard-data --out folder "${plain[@]}" --json in
cp stdout made
expect_equal "$(wc -l <made)" 1
expect_equal "$(json_value made documents)" 4
expect_equal "$(json_value made tokens)" 38
expect_equal "$(json_value made shards)" 1
expect_equal "$(json_value made train_tokens)" 38
expect_equal "$(json_value made val_tokens)" 0
expect_match made '"digest":"[0-9a-f]{16}"'
reads_as folder "$text"
digest=$(json_value made digest)

expect_exit 0 dt-shard-data --out files "${plain[@]}" --json in/a.txt in/b.jsonl in/sub/c.txt
expect_equal "$(json_value stdout digest)" "$digest"

expect_exit 0 dt-shard-data --out stdin "${plain[@]}" --json <in/a.txt
cp stdout made
reads_as stdin $'first\n<|endoftext|>'
cat in/b.jsonl >pipe_content
expect_exit 0 dt-shard-data --out lines "${plain[@]}" --json --format jsonl - < <(cat pipe_content)
cp stdout made
reads_as lines 'second ä<|endoftext|>third<|endoftext|>'

printf '{"body": "x", "text": 1}' >body.jsonl
expect_exit 0 dt-shard-data --out body "${plain[@]}" --json --text-key body --no-append-eos body.jsonl
cp stdout made
reads_as body x

expect_exit 0 dt-shard-data --out split "${plain[@]}" --json --document-separator '\n\n\n' in/sub/c.txt
cp stdout made
reads_as split 'fourth<|endoftext|>fifth<|endoftext|>'

# JSON lines by force, and text by force.
cp in/b.jsonl lines.txt
expect_exit 0 dt-shard-data --out forced "${plain[@]}" --json --format jsonl lines.txt
expect_equal "$(json_value stdout documents)" 2
expect_exit 0 dt-shard-data --out verbatim "${plain[@]}" --json --format text in/b.jsonl
expect_equal "$(json_value stdout documents)" 1

# A byte order mark and an input named twice.
printf '\xef\xbb\xbfx' >bom
expect_exit 0 dt-shard-data --out twice "${plain[@]}" --json bom bom
cp stdout made
reads_as twice 'x<|endoftext|>x<|endoftext|>'

# Text for people.
expect_exit 0 dt-shard-data --out table in
expect_match stdout 'train +3 '
expect_match stdout 'validation +1 '
expect_exit 0 dt-shard-data --show table
expect_match stdout 'train-00000.h5'
expect_match stdout 'tokenizer bytes'
expect_exit 0 dt-shard-data --show table --json
expect_equal "$(wc -l <stdout)" 1
expect_match stdout '"format":"dt-dataset"'
expect_exit 0 dt-shard-data --verify table
expect_exit 0 dt-shard-data --verify table --json
expect_match stdout '^\{"ok":true,"problems":\[\]\}$'
