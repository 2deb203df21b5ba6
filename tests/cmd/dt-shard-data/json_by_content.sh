#!/usr/bin/env bash
# What a .json file, standard input and a member of an archive hold is told by their first line.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

for i in $(seq 2000); do printf '{"url": "u", "text": "document %d"}\n' "$i"; done >a.jsonl
cp a.jsonl a.json
gzip -c a.json >c4.json.gz
tar -cf a.tar a.json
# digest_of NAME ARGUMENT...
digest_of() {
  expect_exit 0 dt-shard-data --out "$@" --json
  json_value stdout digest
}
plain=$(digest_of plain a.jsonl)
expect_equal "$(cat stderr)" ""
for file in a.json c4.json.gz a.tar -; do
  expect_equal "$(digest_of "from_$file" "$file" <a.json)" "$plain" "$file"
  expect_match stderr 'as JSON lines, because the first line is an object with the key "text".*--format text'
done
expect_equal "$(digest_of bom - < <(printf '\xef\xbb\xbf\n\n' && cat a.json))" "$plain"
expect_equal "$(digest_of by_key --text-key text a.json)" "$plain"
expect_exit 0 dt-shard-data --encode-only c4.json.gz
expect_equal "$(wc -l <stdout)" 2000
expect_match stderr 'reading c4.json.gz and similar files as JSON lines'

mkdir work
# refused REGEX ARGUMENT...
refused() {
  expect_exit 3 dt-shard-data --out work/out "${@:2}"
  expect_match stderr "$1"
  expect_equal "$(ls -A work)" ""
}
printf '[{"text": "a"}]\n' >array.json
printf '{\n  "text": "a"\n}\n' >pretty.json
refused 'array.json looks like a JSON array .*jq .*--format text' array.json
refused 'standard input looks like a JSON array' <array.json
refused 'pretty.json looks like JSON, but its first line is not a complete object; .*--format jsonl' pretty.json
refused 'a.json begins with a JSON object without the key "body"; its keys: url, text; .*--text-key' --text-key body a.json
tar -cf pretty.tar pretty.json
refused 'pretty.tar:pretty.json looks like JSON' pretty.tar
expect_exit 0 dt-shard-data --out as_text --format text array.json
