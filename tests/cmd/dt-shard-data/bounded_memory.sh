#!/usr/bin/env bash
# A document far larger than the memory allowed streams through, from a file, from a pipe and decompressed.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# 200 MB of text are 400 MB of tokens; the limit is on address space, the program's own and its threads' included.
write_text() { head -c 200000000 < <(yes 'The quick brown fox jumps over the lazy dog.'); }
limited() {
  ulimit -v 350000 # KiB
  dt-shard-data --threads 2 --quiet --json --val-fraction 0 "$@"
}
write_text >text
expect_exit 0 limited --out file text
expect_equal "$(json_value stdout tokens)" 200000001
digest=$(json_value stdout digest)
rm -rf file
expect_exit 0 limited --out pipe --shard-tokens 16Mi < <(write_text)
expect_equal "$(json_value stdout digest)" "$digest"
rm -rf pipe text
expect_exit 0 limited --out decompressed < <(write_text | gzip -1c)
expect_equal "$(json_value stdout digest)" "$digest"

# What a line holds beside its text is skipped: in memory it would be many times as much. A number beyond 64
# bits makes it a line that is not read the fast way.
write_wide_line() {
  printf '{"text": "abc", "messages": [{"role": "user", "content": "abc"}], "number": 12345678901234567890123, "more": ['
  head -c "$1" < <(yes '[],' | tr -d '\n')
  printf '[]]}\n'
}
write_wide_line 9000000 >wide.jsonl
expect_exit 0 limited --out wide wide.jsonl
expect_equal "$(json_value stdout tokens)" 4
write_wide_line 21000000 >wide.jsonl
expect_exit 0 limited --out turns --turn-format '{content}' wide.jsonl
expect_equal "$(json_value stdout tokens)" 4
head -c 20000000 < <(yes '[' | tr -d '\n') >deep.jsonl
expect_exit 3 limited --out deep deep.jsonl
expect_match stderr 'deep.jsonl:1: .*nests more than 512 levels deep'
expect_exit 3 limited --out deep --turn-format '{content}' deep.jsonl
expect_match stderr 'deep.jsonl:1: .*nests more than 512 levels deep'

# The ids of one document, as text.
ids_of() {
  ulimit -v 350000
  write_text | head -c 50000000 | dt-shard-data --threads 2 --quiet --encode-only | wc -w
}
expect_equal "$(ids_of)" 50000001
