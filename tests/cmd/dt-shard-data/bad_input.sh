#!/usr/bin/env bash
# Input that cannot be used ends with 3, names file and line and what to do, and leaves nothing behind.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

mkdir work
# refused REGEX ARGUMENT...
refused() {
  local pattern=$1
  shift
  expect_exit 3 dt-shard-data --out work/out "$@"
  expect_match stderr "$pattern"
  expect_equal "$(wc -c <stdout)" 0
  expect_equal "$(ls -A work)" ""
}

echo text >good
mkdir empty_folder
: >empty
refused 'nowhere: No such file or directory; check' nowhere
refused 'nowhere: No such file or directory; check' good nowhere
refused 'no text in empty; ' empty
refused 'no text in empty_folder, empty; ' empty_folder empty
refused 'no text in standard input; ' - </dev/null
refused 'no text in empty; ' --document-separator x empty

printf 'one\ntwo\nth\xffree\n' >latin
refused 'latin:3: invalid UTF-8: byte 0xff; .*iconv' good latin
refused 'standard input:3: invalid UTF-8' <latin
printf 'ends in the middle of \xc3' >cut_off
refused 'cut_off:1: invalid UTF-8: byte 0xc3' cut_off
{
  head -c 3000000 /dev/zero | tr '\0' x
  printf '\n\n\x80'
} >long
refused 'long:3: invalid UTF-8: byte 0x80' long

printf '{"text": "a"}\n\n{"text": "b"\n' >broken.jsonl
refused 'broken.jsonl:3: invalid JSON: .*one JSON object per line' broken.jsonl
printf '{"text": "a"}\n["b"]\n' >array.jsonl
refused 'array.jsonl:2: the line is a JSON array; ' array.jsonl
printf '{"txt": "a"}\n' >key.jsonl
refused 'key.jsonl:1: no key "text".*--text-key' key.jsonl
printf '{"text": null}\n' >null.jsonl
refused 'null.jsonl:1: "text" is a JSON null; ' null.jsonl
refused 'good:1: invalid JSON' --format jsonl good

expect_exit 3 dt-shard-data --show nowhere
expect_match stderr 'nowhere'
expect_exit 3 dt-shard-data --verify nowhere
expect_exit 3 dt-shard-data --show empty_folder
expect_match stderr 'empty_folder contains no dataset.json'
expect_exit 3 dt-shard-data --decode good:0:1
expect_match stderr 'good'
