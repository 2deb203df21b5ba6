#!/usr/bin/env bash
# Inputs that patterns and lists name: as if each had been named, patterns in byte order.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

mkdir -p in/sub1 in/sub2
for name in a b B c; do printf '%s;' "$name" >"in/$name.txt"; done
printf 's1;' >in/sub1/x.txt
printf 's2;' >in/sub2/x.txt
printf '{"text": "z;"}\n' | gzip -c >in/z.jsonl.gz
printf 'hidden;' >in/.txt
printf 'star;' >'in/[st]ar.text'

# reads_as TEXT ARGUMENT...
reads_as() {
  rm -rf out
  expect_exit 0 dt-shard-data --out out --no-shuffle --val-fraction 0 --no-append-eos --json "${@:2}"
  expect_exit 0 dt-shard-data --decode "out/train-00000.h5:0:$(json_value stdout tokens)"
  expect_equal "$(cat stdout)" "$1"
}
reads_as 'B;a;b;c;' 'in/*.txt'
reads_as 'z;' 'in/*.jsonl.gz'
reads_as 'b;c;' 'in/[bc].tx?'
reads_as 's1;s2;' 'in/sub*'
reads_as 's1;s2;a;' 'in/sub[0-9]/*.txt' in/a.txt
reads_as 'star;' 'in/[st]ar.text' # a file's own name
reads_as 'hidden;' 'in/.*'     # neither the folder nor the one above
reads_as 'a;a;' in/a.txt 'in/a*'

printf 'in/b.txt\n\nin/sub*\nin/z.jsonl.gz' >list
reads_as 'b;s1;s2;z;' --input-list list
reads_as 'c;b;s1;s2;z;' --input-list list in/c.txt
reads_as 'b;s1;s2;z;' --input-list - <list
reads_as 'b;s1;s2;z;' --input-list - < <(cat list)
sed 's/$/\r/' list >crlf
reads_as 'b;s1;s2;z;' --input-list crlf
reads_as 'piped;b;s1;s2;z;' --input-list list - < <(printf 'piped;')
expect_match out/dataset.json '"input_list": "list"'
find in -name 'x.txt' | sort | reads_as 's1;s2;' --input-list -
rm -rf out
expect_exit 0 dt-shard-data --encode-only --no-append-eos --input-list list
expect_equal "$(head -n 1 stdout)" '98 59'

mkdir work
# refused CODE REGEX ARGUMENT...
refused() {
  expect_exit "$1" dt-shard-data --out work/out "${@:3}"
  expect_match stderr "$2"
  expect_equal "$(ls -A work)" ""
}
refused 3 "nothing matches 'in/\*.csv'" in/a.txt 'in/*.csv'
refused 3 "nothing matches 'in/sub1/\.\*'" 'in/sub1/.*'
refused 3 "nothing matches 'nowhere/\*'" 'nowhere/*'
refused 3 'nowhere: No such file' --input-list nowhere
printf 'in/a.txt\nnot here\n' >wrong
refused 3 'not here: No such file' --input-list wrong
printf 'in/a.txt\nin/b.txt\0in/c.txt\0' >zeros
refused 3 'zeros:2: a file name contains a zero byte' --input-list zeros
: >empty
refused 3 'no text in the inputs listed in empty' --input-list empty
refused 3 'in: Is a directory|in is a directory' --input-list in
refused 2 'standard input cannot be both' --input-list - -
refused 2 'input-list is empty' --input-list ''
expect_exit 2 dt-shard-data --show work --input-list list
expect_match stderr 'input-list cannot be combined with --show'
