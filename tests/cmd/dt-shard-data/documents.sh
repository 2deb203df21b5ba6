#!/usr/bin/env bash
# Which documents go in, and on which side: by their length, only once, and each by its own digest.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# Document i is i characters long, the last one in it of two bytes; every third twice; one is long over several chunks.
python3 - <<'PYTHON'
import json
with open("documents.jsonl", "w", encoding="utf-8") as file:
    for i in range(1, 301):
        for _ in range(2 if i % 3 == 0 else 1):
            file.write(json.dumps({"text": f"{i:03}"[:i] + "x" * (i - 4) + "ä" * (i > 3)}, ensure_ascii=False) + "\n")
with open("long.txt", "w", encoding="utf-8") as file:
    file.write("ö" * 3_000_000)
PYTHON

# documents DIR: the texts of its train split, a line each.
documents() { dt-shard-data --decode "$1/train-00000.h5:0:$(json_value "$1.json" train_tokens)" | sed 's/<|endoftext|>/\n/g'; }
# make_dataset DIR OPTION... INPUT...
make_dataset() {
  dt-shard-data --json --quiet --no-shuffle --val-fraction 0 --out "$@" >"$1.json" || fail "dt-shard-data --out $*"
}

make_dataset all documents.jsonl long.txt
expect_equal "$(json_value all.json documents)" 401
! grep too_long all.json || fail "nothing was left out"
for threads in 1 3; do
  make_dataset "some$threads" --threads "$threads" --min-chars 10 --max-chars 200 --deduplicate documents.jsonl long.txt
  expect_match "some$threads.json" '"too_short":12,"too_long":135,"duplicates":63\}'
done
expect_equal "$(json_value some1.json digest)" "$(json_value some3.json digest)" "digests"
documents some1 >texts
expect_equal "$(wc -l <texts)" 191
# In bytes: the last character takes two.
expect_equal "$(LC_ALL=C awk '{ print length }' texts | sort -n | uniq -c | awk '$1 != 1 || $2 < 11 || $2 > 201' | wc -l)" 0
expect_exit 0 dt-shard-data --verify some1
make_dataset whole --min-chars 3000000 --max-chars 3000000 documents.jsonl long.txt
expect_equal "$(json_value whole.json documents)" 1
expect_exit 0 dt-shard-data --no-shuffle --val-fraction 0 --deduplicate --out shown documents.jsonl
expect_match stdout '^documents filtered out: 100 duplicates$'
# Shuffled, the same documents go.
expect_exit 0 dt-shard-data --json --deduplicate --val-fraction 0 --out shuffled documents.jsonl
expect_equal "$(json_value stdout documents)" 300

# By digest, what is added moves nothing to the other side.
sides() {
  expect_exit 0 dt-shard-data --json --val-by digest --val-fraction 0.2 --append-eos --out "$@"
  dt-shard-data --decode "$1/validation-00000.h5:0:$(json_value stdout val_tokens)" | sed 's/<|endoftext|>/\n/g' | sort -u
}
head -n 200 documents.jsonl >early.jsonl
sides early early.jsonl >early.val
sides later --no-shuffle documents.jsonl >later.val
(($(wc -l <early.val) > 10 && $(wc -l <later.val) > $(wc -l <early.val))) || fail "validation documents: $(wc -l early.val later.val)"
expect_equal "$(comm -23 early.val later.val)" ""
expect_equal "$(comm -13 early.val later.val | LC_ALL=C awk 'length < 152' | wc -l)" 0 "early documents on another side"

expect_exit 3 dt-shard-data --out none --min-chars 9999999 documents.jsonl
expect_match stderr '--min-chars and --max-chars exclude every document'
expect_exit 3 dt-shard-data --out none --val-by digest --val-fraction 0.999999999 documents.jsonl
expect_match stderr 'all documents went to the validation split'
expect_exit 2 dt-shard-data --out none --min-chars 5 --max-chars 4 documents.jsonl
expect_match stderr '.-max-chars 4 is below --min-chars 5'
expect_absent none
