#!/usr/bin/env bash
# Datasets by a tokenizer's file: tiktoken's ranks, then the tokenizer.json that they became; what is wrong is refused.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

make_ranks ranks
for i in $(seq 60000); do printf 'a document %d says ä%d\n' "$i" $((i * i)); done >text
bytes=$(wc -c <text)

expect_exit 0 dt-shard-data --json --quiet --no-shuffle --val-fraction 0 --tokenizer ranks --tokenizer-pattern llama3 --eos-token '<|end_of_text|>' --out by_ranks text
tokens=$(json_value stdout tokens)
((tokens < bytes * 9 / 10)) || fail "$tokens tokens of $bytes bytes"
expect_exit 0 dt-shard-data --verify by_ranks
expect_exit 0 dt-shard-data --decode "by_ranks/train-00000.h5:0:$tokens"
cmp stdout <(cat text && printf '<|end_of_text|>') || fail "decoding gives another text"

# Its tokenizer.json makes the same, whoever encodes, and travels on.
for threads in 1 3; do
  expect_exit 0 dt-shard-data --json --quiet --no-shuffle --val-fraction 0 --tokenizer by_ranks/tokenizer.json --threads "$threads" \
    --out "by_json$threads" text
  cmp "by_json$threads/train-00000.h5" by_ranks/train-00000.h5 || fail "other shards with $threads threads"
  cmp "by_json$threads/tokenizer.json" by_ranks/tokenizer.json
done

# Documents end in what the user says; in nothing, where no token is known to end them and none is asked for.
expect_exit 0 dt-shard-data --quiet --val-fraction 0 --tokenizer by_ranks/tokenizer.json --eos-token ' doc' --out other text
expect_exit 0 dt-shard-data --decode "other/train-00000.h5:$((tokens - 1)):1"
expect_equal "$(cat stdout)" ' doc'
expect_exit 0 dt-shard-data --quiet --val-fraction 0 --tokenizer ranks --tokenizer-pattern llama3 --no-append-eos --out endless text
expect_exit 0 dt-shard-data --verify endless
expect_exit 0 dt-shard-data --show endless
expect_match stdout ', end of document none'

# That a pattern has no scanner, and is slower, is told once.
printf 'ab cd' >little
expect_exit 0 dt-shard-data --encode-only --tokenizer ranks --tokenizer-pattern llama3 --no-append-eos little
expect_equal "$(cat stderr)" ""
expect_exit 0 dt-shard-data --out slower --val-fraction 0 --tokenizer ranks --tokenizer-pattern '\s*\S+|\s+' --no-append-eos little
expect_equal "$(grep -c 'dt has no fast scanner for the tokenizer.s pattern, so Oniguruma splits the text at about 30 MB/s per core' stderr)" 1
sed 's/"normalizer": null/"normalizer": {"type": "Replace", "pattern": {"Regex": " +"}, "content": " "}/' slower/tokenizer.json >replaces.json
expect_exit 0 dt-shard-data --encode-only --tokenizer replaces.json --no-append-eos little
expect_match stderr "the tokenizer's normalizer uses a regular expression, which Oniguruma runs"

# refused PATTERN ARGUMENT...
refused() {
  local pattern=$1
  shift
  expect_exit 3 dt-shard-data --out out "$@" text
  expect_match stderr "$pattern"
  [[ ! -e out ]] || fail "out exists after: $*"
}
refused "'nowhere' is unknown; expected .bytes. or the path of a tokenizer file" --tokenizer nowhere
refused 'ranks does not define how text is split' --tokenizer ranks
refused 'ranks does not define which token ends a document; name it with --eos-token, or use --no-append-eos' --tokenizer ranks --tokenizer-pattern o200k
refused "text is not a tokenizer file that dt knows" --tokenizer text
refused "no token '<eod>' \(--eos-token\)" --tokenizer by_ranks/tokenizer.json --eos-token '<eod>'
refused '--tokenizer-pattern cannot be combined with it' --tokenizer by_ranks/tokenizer.json --tokenizer-pattern gpt2
sed 's/"type": "ByteLevel"/"type": "ByteLevels"/' by_ranks/tokenizer.json >unknown.json
refused 'unknown.json: pre_tokenizer.pretokenizers\[1\].type: the type "ByteLevels" is not supported' --tokenizer unknown.json
head -n 100 ranks >short
refused 'short: no token stands for the byte 0x64' --tokenizer short --tokenizer-pattern gpt2
# Text that a pattern leaves out, or that the regular expressions' engine gives up on, is no text lost: the error names pattern and place.
refused 'text:[0-9]*: the pattern \[a-z\] does not match " "; use a pattern whose matches' --tokenizer ranks --eos-token '<|end|>' --tokenizer-pattern '[a-z]'
refused 'the pattern \(\?:a\)\* can match the empty text' --tokenizer ranks --eos-token '<|end|>' --tokenizer-pattern '(?:a)*'
{ seq 9 && printf 'a%.0s' {1..40} && echo b; } >deep
expect_exit 3 dt-shard-data --quiet --tokenizer ranks --eos-token '<|end|>' --tokenizer-pattern '(a|a)+$|[\s\S]' --out out deep
expect_match stderr 'deep:[0-9]*: the regular expression \(\?:a\|a\)\+\\z\|\\O failed on the text: retry-limit-in-match over'

# Another tokenizer beside the shards is noticed.
sed -i 's/<|end_of_text|>/<|end_of_texts|>/' by_json1/tokenizer.json
expect_exit 5 dt-shard-data --verify by_json1
expect_exit 3 dt-shard-data --decode by_json1/train-00000.h5:0:1
