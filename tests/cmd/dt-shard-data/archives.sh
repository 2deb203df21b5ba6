#!/usr/bin/env bash
# The files of a tar or zip archive are inputs, each of its own name's format, in whatever form the archive is.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

for tool in tar gzip zstd xz python3; do
  command -v "$tool" >/dev/null || skip "there is no $tool"
done
mkdir -p in/sub
printf 'first\n' >in/a.txt
printf '{"text": "second"}\n\n{"text": "third"}\n' >in/b.jsonl
printf '{"text": "fourth"}\n' | gzip -c >in/c.jsonl.gz
long=sub/$(printf 'long%.0s' {1..40})/$(printf 'näme%.0s' {1..30}).ndjson
mkdir -p "in/$(dirname "$long")"
printf '{"text": "fifth"}' >"in/$long"
: >in/sub/empty.txt
printf 'hidden' >in/.d
ln -s a.txt in/link
ln in/a.txt in/sub/z.txt
text='first
<|endoftext|>second<|endoftext|>third<|endoftext|>fourth<|endoftext|>fifth<|endoftext|>'
members=(./a.txt b.jsonl c.jsonl.gz .d link "$long" sub/empty.txt sub/z.txt sub)

# reads_as TEXT ARGUMENT...
reads_as() {
  rm -rf out
  expect_exit 0 dt-shard-data --out out --no-shuffle --val-fraction 0 --json "${@:2}"
  expect_exit 0 dt-shard-data --decode "out/train-00000.h5:0:$(json_value stdout tokens)"
  expect_equal "$(cat stdout)" "$1"
}
for format in gnu pax; do
  tar -C in --format "$format" --no-recursion -cf "$format.tar" "${members[@]}"
  reads_as "$text" "$format.tar"
  reads_as "$text" <"$format.tar"
  gzip -c "$format.tar" >"$format.tgz"
  zstd -qc "$format.tar" >"$format.tar.zst"
  xz -c "$format.tar" >"$format.tar.xz"
  for file in "$format".tgz "$format".tar.zst "$format".tar.xz; do
    reads_as "$text" "$file"
    reads_as "$text" - < <(cat "$file")
  done
done
tar -C in --format ustar -cf ustar.tar a.txt
reads_as $'first\n<|endoftext|>' ustar.tar
cat ustar.tar pax.tar >both.tar
reads_as $'first\n<|endoftext|>'"$text" both.tar
tar -cf outer.tar gnu.tgz
reads_as "$text" outer.tar
truncate -s 1M sparse && printf 'end' >>sparse
tar -Scf sparse.tar sparse
expect_exit 0 dt-shard-data --out sparse_data --format text --json sparse.tar
expect_equal "$(json_value stdout tokens)" $((1024 * 1024 + 4))

# Zip, its directory read where it can be: links are no documents.
zip() {
  python3 - "$@" <<'END'
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
    for name in sys.argv[2:]:
        path = "in/" + name
        if os.path.islink(path):
            link = zipfile.ZipInfo(name)
            link.create_system, link.external_attr = 3, 0o120777 << 16
            archive.writestr(link, os.readlink(path))
        else:
            archive.write(path, name)
END
}
zip all.zip a.txt b.jsonl c.jsonl.gz .d link "$long" sub/empty.txt sub/z.txt
reads_as "${text/<|endoftext|>*/<|endoftext|>second<|endoftext|>third<|endoftext|>fourth<|endoftext|>fifth<|endoftext|>first
<|endoftext|>}" all.zip
zip some.zip a.txt b.jsonl
reads_as $'first\n<|endoftext|>second<|endoftext|>third<|endoftext|>' - < <(cat some.zip)

mkdir work
# refused REGEX ARGUMENT...
refused() {
  local pattern=$1
  shift
  expect_exit 3 dt-shard-data --out work/out "$@"
  expect_match stderr "$pattern"
  expect_equal "$(ls -A work)" ""
}
head -c 60 some.zip >short.zip
refused 'short.zip is damaged: zip at byte ' short.zip
python3 -c '
import zipfile
with zipfile.ZipFile("a.docx", "w") as archive:
    archive.writestr("[Content_Types].xml", "<Types/>")'
refused 'a.docx is an Office document, which dt does not read; extract its text' a.docx
printf '7z\xbc\xaf\x27\x1c and so on' >a.7z
refused 'a.7z is a 7-Zip archive, which dt does not read; unpack it \(7z x FILE\)' a.7z
printf 'Rar!\x1a\x07\x01\0' >a.rar
refused 'a.rar is a RAR archive' a.rar
printf 'WARC/1.0\r\n' | gzip -c >a.warc.gz
refused 'a.warc.gz is a WARC file of web pages' a.warc.gz
expect_exit 0 dt-shard-data --out warc_text --val-fraction 0 --format text a.warc.gz
head -c 515 ustar.tar >short.tar
refused 'short.tar is damaged: tar at byte 515: Truncated' short.tar
head -c 700 pax.tar >header.tar
refused 'header.tar is damaged: tar at byte [0-9]+: ' header.tar
printf 'oops' | dd of=ustar.tar bs=1 seek=10 conv=notrunc status=none
refused 'ustar.tar is damaged: tar at byte [0-9]+: ' ustar.tar
head -c 300 gnu.tgz >cut.tgz
refused 'cut.tgz is damaged: gzip at byte 300: the data ends' cut.tgz
# The checksum at the end, after the archive's own end.
python3 -c '
data = bytearray(open("gnu.tgz", "rb").read())
data[-6] ^= 1
open("checksum.tgz", "wb").write(data)'
refused 'checksum.tgz is damaged: gzip at byte [0-9]+: incorrect data check' checksum.tgz
printf '{"text": "x"}\n{"text": \n' >bad.jsonl
tar -cf bad.tar bad.jsonl
refused 'bad.tar:bad.jsonl:2: invalid JSON' bad.tar
head -c 100 in/c.jsonl.gz | head -c 20 >bad.jsonl.gz
tar -cf bad.tar bad.jsonl.gz
refused 'bad.tar:bad.jsonl.gz is damaged: gzip at byte 20: the data ends' bad.tar
