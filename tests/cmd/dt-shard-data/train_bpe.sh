#!/usr/bin/env bash
# --train-bpe: a tokenizer learned from the inputs, in a dataset or alone; what cannot be is refused.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

for i in $(seq 3000); do echo "document $i says that $((i * i)) is a square, says document $i"; done >text

expect_exit 0 dt-shard-data --json --quiet --no-shuffle --val-fraction 0 --train-bpe 400 --out out text
tokens=$(json_value stdout tokens)
expect_exit 0 dt-shard-data --verify out
expect_exit 0 dt-shard-data --show out
expect_match stdout 'tokenizer tokenizer.json, 400 tokens, end of document 0'
expect_match stdout 'train_bpe 400'
expect_exit 0 dt-shard-data --decode "out/train-00000.h5:0:$tokens"
cmp stdout <(cat text && printf '<|endoftext|>') || fail "decoding gives another text"

# Alone it is the same, from a pipe as well, whatever the threads; the dataset that it makes is the same.
for threads in 1 3; do
  expect_exit 0 dt-shard-data --json --threads "$threads" --train-bpe 400 --save-tokenizer "$threads.json" - <text
  expect_equal "$(json_value stdout vocabulary_size)" 400
  cmp "$threads.json" out/tokenizer.json || fail "another tokenizer with $threads threads"
done
expect_exit 0 dt-shard-data --quiet --no-shuffle --val-fraction 0 --tokenizer 1.json --out again text
cmp out/train-00000.h5 again/train-00000.h5

expect_exit 0 dt-shard-data --train-bpe 400 --save-tokenizer 1.json --overwrite --tokenizer-pattern llama3 --eos-token '<eod>' text
expect_match 1.json '"content": "<eod>"'
! cmp -s 1.json 3.json || fail "the pattern changes nothing"

# There are no more tokens than pairs.
echo 'abc abc' >short
expect_exit 0 dt-shard-data --train-bpe 1000 --save-tokenizer short.json short
expect_match stderr 'warning: the inputs yield a vocabulary of 260 tokens, not the 1000 of --train-bpe'
expect_exit 0 dt-shard-data --train-bpe 1000 --min-pair-count 2 --save-tokenizer short.json --overwrite short
expect_match stderr 'a vocabulary of 259 tokens'

# refused CODE PATTERN ARGUMENT...
refused() {
  local code=$1 pattern=$2
  shift 2
  expect_exit "$code" dt-shard-data "$@" </dev/null
  expect_match stderr "$pattern"
  expect_absent new new.json
}
refused 3 'standard input is a pipe and cannot be read twice.*--save-tokenizer' --train-bpe 400 --out new
refused 3 '1.json already exists.*--overwrite' --train-bpe 400 --save-tokenizer 1.json text
refused 4 'cannot create text/new.json: Not a directory' --train-bpe 400 --save-tokenizer text/new.json
refused 3 'no text in standard input' --train-bpe 400 --save-tokenizer new.json
refused 3 'does not accept the regular expression \(' --train-bpe 400 --tokenizer-pattern '(' --save-tokenizer new.json text
refused 2 "'256'.*train-bpe" --train-bpe 256 --out new text
refused 2 -- '--save-tokenizer needs --train-bpe' --save-tokenizer new.json text
refused 2 -- '--min-pair-count needs --train-bpe' --min-pair-count 2 --out new text
refused 2 -- '--train-bpe cannot be combined with --tokenizer' --train-bpe 400 --tokenizer 1.json --out new text
refused 2 -- '--seed cannot be combined with --save-tokenizer' --train-bpe 400 --save-tokenizer new.json --seed 1 text
refused 2 'one of --out, --encode-only, --save-tokenizer' --train-bpe 400 --save-tokenizer new.json --out new text

# A signal leaves nothing.
mkdir work
mkfifo pipe
dt-shard-data --train-bpe 400 --save-tokenizer work/new.json pipe 2>stderr &
tool=$!
exec 3>pipe
for _ in $(seq 100); do
  [[ -n $(ls -A work) ]] && break
  sleep 0.1
done
kill -s TERM "$tool"
code=0
wait "$tool" || code=$?
exec 3>&-
expect_equal "$code" 143
expect_match stderr 'stopped by SIGTERM; work/new.json was not written'
expect_equal "$(ls -A work)" ""
