#!/usr/bin/env bash
# Compressed files and tar archives are read as what is in them, by content, also from standard input; what is damaged
# ends with 3 and says which file and where.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

for tool in gzip xz zstd bzip2 lz4 lzma python3; do
  command -v "$tool" >/dev/null || skip "there is no $tool"
done
for i in $(seq 30000); do
  printf '{"text": "document %d says ä%d"}\n' "$i" $((i * i))
done >text.jsonl
head -n 10 text.jsonl >first
tail -n +11 text.jsonl >rest

# digest_of NAME ARGUMENT...
digest_of() {
  expect_exit 0 dt-shard-data --out "$@" --json --quiet
  json_value stdout digest
}
plain=$(digest_of plain text.jsonl)
declare -A suffix=([gzip]=gz [xz]=xz [zstd]=zst [bzip2]=bz2 [lz4]=lz4)
for tool in gzip xz zstd bzip2 lz4; do
  # Several members, frames, streams; empty ones among them, and zeros at the end.
  { "$tool" -c <first && : | "$tool" -c && "$tool" -c <rest; } >"text.jsonl.${suffix[$tool]}"
  expect_equal "$(digest_of "$tool" "text.jsonl.${suffix[$tool]}")" "$plain" "$tool"
  expect_equal "$(digest_of "$tool-1" --threads 1 "text.jsonl.${suffix[$tool]}")" "$plain" "$tool"
  cmp "$tool/dataset.json" "$tool-1/dataset.json"
  expect_equal "$(digest_of "$tool-stdin" --format jsonl <"text.jsonl.${suffix[$tool]}")" "$plain" "$tool"
done
{ cat text.jsonl.gz && head -c 512 /dev/zero; } >padded.jsonl.gz
expect_equal "$(digest_of padded padded.jsonl.gz)" "$plain"
xz -c text.jsonl.gz >twice.jsonl.gz.xz
expect_equal "$(digest_of twice twice.jsonl.gz.xz)" "$plain"
: | gzip -c >empty.gz
expect_equal "$(digest_of with_empty empty.gz text.jsonl)" "$plain"
lzma -c text.jsonl >text.jsonl.lzma
expect_equal "$(digest_of lzma text.jsonl.lzma)" "$plain"
# A skippable frame first, and a window above 128 MiB, whose memory is told, and may be too much.
{ printf '\x5a\x2a\x4d\x18\x03\0\0\0abc' && cat text.jsonl.zst; } >skipped.jsonl.zst
expect_equal "$(digest_of skipped skipped.jsonl.zst)" "$plain"
zstd -q --long=28 --no-content-size -c - <text.jsonl >window.jsonl.zst
expect_equal "$(digest_of window window.jsonl.zst)" "$plain"
expect_exit 0 dt-shard-data --out told window.jsonl.zst
expect_match stderr 'window.jsonl.zst needs 256.[0-9] MiB of memory to decompress \(zstd\)'
expect_exit 3 dt-shard-data --out too_much --decompress-memory 200Mi window.jsonl.zst
expect_match stderr 'window.jsonl.zst needs 256.[0-9] MiB of memory to decompress \(zstd\), more than --decompress-memory 200.0 MiB'
xz -c --lzma2=dict=256MiB text.jsonl >window.jsonl.xz
expect_exit 3 dt-shard-data --out too_much --decompress-memory 200Mi window.jsonl.xz
expect_match stderr 'window.jsonl.xz needs 256.[0-9] MiB of memory to decompress \(xz\), more than'
expect_exit 3 dt-shard-data --out too_much --max-output-bytes 100 window.jsonl.zst
expect_match stderr 'window.jsonl.zst unpacks to more than --max-output-bytes 100 B'
expect_absent too_much
# The content decides, not the name.
cp text.jsonl.gz misnamed
expect_equal "$(digest_of by_content --format jsonl misnamed)" "$plain"

mkdir work
# refused REGEX ARGUMENT...
refused() {
  local pattern=$1
  shift
  expect_exit 3 dt-shard-data --out work/out "$@"
  expect_match stderr "$pattern"
  expect_equal "$(ls -A work)" ""
}
for tool in gzip xz zstd bzip2 lz4; do
  file=text.jsonl.${suffix[$tool]}
  size=$(wc -c <"$file")
  head -c $((size / 2)) "$file" >"cut.${suffix[$tool]}"
  refused "cut.${suffix[$tool]} is damaged: $tool at byte $((size / 2)): the data ends too early; download the file again" "cut.${suffix[$tool]}"
  refused "standard input is damaged: $tool at byte $((size / 2)): the data ends" <"cut.${suffix[$tool]}"
  head -c $((size - 2)) "$file" >last
  refused "last is damaged: $tool at byte $((size - 2)): the data ends" last
  { cat "$file" && echo 'something else'; } >followed
  refused "followed is damaged: $tool at byte [0-9]+: " followed
  # What comes out before the damage shows may be wrong already.
  { head -c $((size / 2)) "$file" && head -c 1000 /dev/urandom && tail -c +$((size / 2 + 1001)) "$file"; } >scratched
  refused "scratched( is damaged: $tool at byte |:)[0-9]+: " --format jsonl scratched
done
# A wrong checksum alone.
python3 -c '
import gzip
data = bytearray(gzip.compress(b"some text\n"))
data[-6] ^= 1
open("checksum.gz", "wb").write(data)'
refused 'checksum.gz is damaged: gzip at byte [0-9]+: incorrect data check' checksum.gz
printf 'one\ntwo\nth\xffree\n' | gzip -c >latin.gz
refused 'latin.gz:3: invalid UTF-8: byte 0xff' latin.gz

# Each layer takes memory: a file of some kB may have thousands of them.
echo text >layers
for _ in {1..16}; do gzip -c layers >layered && mv layered layers; done
expect_exit 0 dt-shard-data --out sixteen --val-fraction 0 layers
gzip -c layers >seventeen
refused 'seventeen has more than 16 nested layers of compression or archives' seventeen
