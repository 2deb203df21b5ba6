#!/usr/bin/env bash
# Unusable command lines end with 2 and say which option and what is allowed.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

echo text >in
# refused REGEX ARGUMENT...
refused() {
  local pattern=$1
  shift
  expect_exit 2 dt-shard-data "$@"
  expect_match stderr "$pattern"
  expect_equal "$(wc -c <stdout)" 0
  [[ ! -e out ]] || fail "out exists after: $*"
}

refused 'one of --out, --encode-only, --save-tokenizer, --show, --verify and --decode' in
refused 'one of --out, --encode-only, --save-tokenizer, --show, --verify and --decode' --out out --show out
refused "unknown option '--sed'.*--seed" --out out --sed 1 in
refused '--eos-token needs --tokenizer FILE or --train-bpe' --out out --eos-token x in
refused '--tokenizer-pattern needs --tokenizer FILE or --train-bpe' --out out --tokenizer-pattern gpt2 in
refused "'arrow'.*auto, text, jsonl, npy, bin, megatron" --out out --format arrow in
refused "val-fraction.*less|val-fraction.*not including, 1" --out out --val-fraction 1 in
refused "'-0.1'.*val-fraction" --out out --val-fraction -0.1 in
refused "'0'.*shard-tokens" --out out --shard-tokens 0 in
refused "'many'.*threads" --out out --threads many in
refused "document-separator.*empty" --out out --document-separator '' in
refused "document-separator.*backslash" --out out --document-separator '\q' in
refused "document-separator applies to text" --out out --format jsonl --document-separator x in
refused "text-key applies to JSON" --out out --format text --text-key x in
refused -- "--seed cannot be combined with --show" --show out --seed 1
refused -- "--verify takes no inputs" --verify out in
for range in shard shard:1 :1:2 shard:a:1 shard:-1:1 shard:1:; do
  refused 'SHARD:OFFSET:COUNT' --decode "$range"
done

expect_exit 0 dt-shard-data --help-all
for word in --out --val-fraction --document-separator 'auto\|text\|jsonl\|npy\|bin\|megatron' Examples; do
  expect_match stdout "$word"
done
for word in arrow unigram; do
  ! grep -q "$word" stdout || fail "--help-all advertises $word"
done
expect_exit 0 dt-shard-data --version
expect_match stdout '^dt-shard-data [0-9]'

# Threads that the system does not begin.
(ulimit -v 3000000 && expect_exit 4 dt-shard-data --out out --threads 1024 in) || exit 1
expect_match stderr 'cannot start 1023 threads: .*ulimit -v.*--threads'
expect_absent out
