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

# The ids of one document, as text.
ids_of() {
  ulimit -v 350000
  write_text | head -c 50000000 | dt-shard-data --threads 2 --quiet --encode-only | wc -w
}
expect_equal "$(ids_of)" 50000001
