#!/usr/bin/env bash
# --resume goes on with what a killed run has done, and the dataset is the one that nothing interrupted.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

awk 'BEGIN {for (i = 0; i < 1000000; ++i) print "{\"text\": \"" i " is the number of a text that goes on and on\"}"}' >text.jsonl
inputs=(text.jsonl text.jsonl text.jsonl text.jsonl)
expect_exit 0 dt-shard-data --quiet --threads 1 --shard-tokens 20M --out whole "${inputs[@]}"

# resume_until FOUND: starts it, and kills it as soon as files of that name are there
resume_until() {
  dt-shard-data --quiet --threads 2 --shard-tokens 20M --resume --out data "${inputs[@]}" >/dev/null 2>stderr &
  local tool=$!
  until compgen -G "$1" >/dev/null || ! kill -0 "$tool" 2>/dev/null; do sleep 0.01; done
  kill -s KILL "$tool" || fail "it ended before there was $1: $(cat stderr)"
  wait "$tool" || true
  [[ ! -e data ]] || fail "there is a dataset that is not whole"
}

resume_until '.data.partial/spool-*/range-*1.spool'
first=$(stat -c %y .data.partial/spool-*/range-00000.spool)
resume_until '.data.partial/spool-*/range-*2.spool'
expect_equal "$(stat -c %y .data.partial/spool-*/range-00000.spool)" "$first"
resume_until '.data.partial/train-*2.h5'
expect_exit 0 dt-shard-data --quiet --shard-tokens 20M --resume --out data "${inputs[@]}"
cmp whole/dataset.json data/dataset.json
expect_exit 0 dt-shard-data --verify data
expect_equal "$(find . -name '.*.partial')" ""

# A signal leaves what is done and says so; other options are refused by name; without --resume it starts over.
dt-shard-data --quiet --resume --out again "${inputs[@]}" 2>stderr &
tool=$!
until compgen -G '.again.partial/spool-*/range-*' >/dev/null; do sleep 0.01; done
kill "$tool"
code=0
wait "$tool" || code=$?
expect_equal "$code" 143
expect_match stderr 'stopped by SIGTERM; run the command again to continue from .*\.again\.partial'
expect_exit 3 dt-shard-data --quiet --resume --seed 5 --out again "${inputs[@]}"
expect_match stderr 'was started with seed 0, but now it is 5'
expect_exit 0 dt-shard-data --quiet --no-shuffle --out again text.jsonl
expect_equal "$(find . -name '.*.partial')" ""

expect_exit 3 dt-shard-data --quiet --resume --out pipe < <(cat text.jsonl)
expect_match stderr '--resume reads the inputs again'
expect_exit 2 dt-shard-data --resume --encode-only text.jsonl
