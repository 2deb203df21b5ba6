#!/usr/bin/env bash
# What is not UTF-8, and lines that are no documents: an error, or on demand skipped, counted and reported.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

plain=(--no-shuffle --val-fraction 0 --quiet)
# reads_as TEXT ARGUMENT...: what it made is told in ./made
reads_as() {
  rm -rf out
  expect_exit 0 dt-shard-data --out out "${plain[@]}" --json "${@:2}"
  cp stdout made
  expect_exit 0 dt-shard-data --decode "out/train-00000.h5:0:$(json_value made tokens)"
  expect_equal "$(cat stdout)" "$1"
}
printf 'gr\xfc\xdfe, \xe2\x82 and \xe2\x82\xac' >latin
expect_exit 3 dt-shard-data --out out "${plain[@]}" latin
expect_exit 3 dt-shard-data --out out "${plain[@]}" --invalid fail latin
expect_match stderr 'latin:1: invalid UTF-8: byte 0xfc; .*--invalid'
reads_as 'gr��e, � and €<|endoftext|>' --invalid replace latin
expect_equal "$(json_value made invalid_sequences)" 3
expect_match out/dataset.json '"invalid": "replace"'
expect_match out/dataset.json '"invalid_sequences": 3'
reads_as 'gre,  and €<|endoftext|>' --invalid skip latin
expect_equal "$(json_value made invalid_sequences)" 3
expect_match out/dataset.json '"invalid": "skip"'
rm -rf out
expect_exit 0 dt-shard-data --out out "${plain[@]}" --invalid replace latin
expect_match stdout '^3 sequences of bytes that are not valid UTF-8 replaced$'
echo whole >whole
reads_as $'whole\n<|endoftext|>' --invalid replace whole
! grep -q invalid made || fail "a count of nothing is told"
! grep -q invalid_sequences out/dataset.json || fail "a count of nothing is kept"

printf '{"text": "one"}\n{"text": \n[1]\n{"txt": "x"}\n{"text": 5}\n{"text": "two\xff"}\n' >lines.jsonl
tail -n 1 lines.jsonl >last.jsonl
expect_exit 3 dt-shard-data --out none "${plain[@]}" --skip-bad-lines lines.jsonl
expect_match stderr 'lines.jsonl:6: invalid UTF-8'
expect_exit 3 dt-shard-data --out none "${plain[@]}" --invalid replace lines.jsonl
expect_match stderr 'lines.jsonl:2: invalid JSON'
reads_as 'one<|endoftext|>two�<|endoftext|>' --skip-bad-lines --invalid replace lines.jsonl
expect_equal "$(json_value made bad_lines)" 4
expect_match made '"first_bad_line":"lines.jsonl:2: invalid JSON'
expect_match out/dataset.json '"bad_lines": 4'
expect_match out/dataset.json '"skip_bad_lines": true'
rm -rf out
expect_exit 0 dt-shard-data --out out "${plain[@]}" --skip-bad-lines --invalid skip lines.jsonl
expect_match stdout '^4 bad lines skipped; the first: lines.jsonl:2: '
expect_exit 3 dt-shard-data --out none "${plain[@]}" --skip-bad-lines --text-key body lines.jsonl --invalid skip
expect_match stderr 'no text in lines.jsonl'
expect_exit 0 dt-shard-data --encode-only --skip-bad-lines --invalid skip lines.jsonl
expect_equal "$(wc -l <stdout)" 2
expect_match stderr '4 bad lines skipped; the first: lines.jsonl:2: '

# The same, however many threads.
for i in $(seq 100000); do printf '{"text": "document %d\xff"}\n%d\n' "$i" "$i"; done >many.jsonl
for threads in 1 3; do
  expect_exit 0 dt-shard-data --out "many$threads" "${plain[@]}" --json --threads "$threads" --skip-bad-lines --invalid skip many.jsonl
  expect_equal "$(json_value stdout bad_lines)" 100000
  expect_equal "$(json_value stdout invalid_sequences)" 100000
  expect_match stdout 'many.jsonl:2: the line is a JSON number'
done
cmp many1/dataset.json many3/dataset.json

expect_exit 2 dt-shard-data --out none --invalid ignore latin
expect_match stderr "'ignore'.*fail, replace, skip"
expect_exit 2 dt-shard-data --out none --skip-bad-lines --format text latin
expect_match stderr 'skip-bad-lines applies to JSON lines'
expect_absent none

# What is read as text has no such lines, and standard input has no name that says what it is.
for option in --skip-bad-lines '--text-key body'; do
  # shellcheck disable=SC2086  # two words
  expect_exit 2 dt-shard-data --encode-only $option <lines.jsonl
  expect_match stderr "${option%% *} applies to JSON lines, but the format of standard input is unknown; .*--format jsonl"
done
expect_exit 0 dt-shard-data --encode-only --skip-bad-lines --invalid skip --format jsonl <lines.jsonl
