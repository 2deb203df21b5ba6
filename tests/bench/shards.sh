#!/usr/bin/env bash
# shards.sh: learning a tokenizer against Hugging Face's trainer on the same cores. Then text to shards on two threads, each with its own
# core, against one thread, and against the encoder alone on as many threads. DT_BENCH_TEXT names the text; the default is 100 MB of
# documents and code of this machine. DT_BENCH_PYTHON names a Python interpreter that has tokenizers. Files are in /dev/shm, unless it lacks
# 4 GB or TMPDIR names another folder, so that the disk is not measured.
set -euo pipefail
if [[ -z ${TMPDIR:-} ]] && (($(df --output=avail -B1 /dev/shm 2>/dev/null | tail -n 1 || echo 0) > 4000000000)); then TMPDIR=/dev/shm; fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"

machine_text() {
  find /usr/share/doc /usr/include /usr/lib/python3* /usr/share/perl* -type f \
    \( -name '*.h' -o -name '*.hpp' -o -name '*.py' -o -name '*.pm' -o -name '*.html' -o -name '*.txt' -o -name copyright \) -print0 |
    sort -z | xargs -0 cat | iconv -c -f utf-8 -t utf-8 | head -c 100000000 | iconv -c -f utf-8 -t utf-8
}
text=${DT_BENCH_TEXT:-$dir/text}
[[ -e $text ]] || machine_text >"$text" 2>/dev/null || true # head ends the pipe
bytes=$(wc -c <"$text")
separator='\n\n\n'

median() { sort -g | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
# seconds COMMAND...
seconds() {
  local start=$EPOCHREALTIME
  "$@" >/dev/null
  awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN {print b - a}'
}
# row WHAT VALUES TARGET: the median of a file's values
row() { printf '%-64s %.2f (at least %s)  of %s\n' "$1" "$(median <"$2")" "$3" "$(sort -g "$2" | xargs printf '%.2f ')"; }

train() {
  seconds dt-shard-data --quiet --train-bpe 32000 --document-separator "$separator" --overwrite --save-tokenizer tokenizer.json "$text"
}
own=$(train)
awk -v b="$bytes" -v s="$own" 'BEGIN {printf "32,000 tokens learned from %.0f MB in %.2f s\n", b / 1e6, s}'
if [[ -n ${DT_BENCH_PYTHON:-} ]]; then
  other=$(PYTHONPATH=$here/../python "$DT_BENCH_PYTHON" - "$text" <<'PYTHON'
import sys, time
from check_training import trained_by_others
texts = open(sys.argv[1], encoding="utf-8", newline="").read().split("\n\n\n")
start = time.time()
trained_by_others(texts, "gpt2", 32000, 1, "<|endoftext|>")
print(time.time() - start)
PYTHON
  )
  awk -v o="$other" -v s="$own" \
    'BEGIN {printf "%-64s %.2f (at least 2)  %.2f s and %.2f s\n", "Hugging Face'\''s trainer ÷ --train-bpe 32000, seconds", o / s, o, s}'
fi

# The first two cores that there are for us.
mapfile -t cores < <(awk '/^Cpus_allowed_list/ {n = split($2, ranges, ",")
  for (i = 1; i <= n; ++i) {split(ranges[i], ends, "-"); for (c = ends[1]; c <= (ends[2] == "" ? ends[1] : ends[2]); ++c) print c}}' /proc/self/status)
((${#cores[@]} > 1)) || {
  echo "text to shards on two threads: there is one core"
  exit 77
}

for _ in {1..16}; do cat "$text"; done >many_times # so that what a start takes is small
# make_shards THREADS CORES
make_shards() {
  rm -rf shards
  seconds taskset -c "$2" dt-shard-data --quiet --threads "$1" --tokenizer tokenizer.json --document-separator "$separator" \
    --out shards many_times
}
# encode CORE: the text once, from memory
encode() {
  DT_BENCH_TOKENIZER=tokenizer.json DT_BENCH_ENGLISH=$text taskset -c "$1" bench_tokenizer --benchmark_filter='^BM_english' \
    --benchmark_format=csv 2>/dev/null | awk -F, '/BM_english/ {print $3 / 1e3}' >"encoded.$1"
}
# encode_alone: seconds for half of many times the text on each of two cores
encode_alone() {
  encode "${cores[0]}" &
  encode "${cores[1]}"
  wait
  cat "encoded.${cores[0]}" "encoded.${cores[1]}" | awk '{s += $1} END {print 4 * s}'
}
for _ in 1 2 3 4 5; do
  one=$(make_shards 1 "${cores[0]}")
  two=$(make_shards 2 "${cores[0]},${cores[1]}")
  alone=$(encode_alone)
  awk -v one="$one" -v two="$two" -v alone="$alone" 'BEGIN {print one / two >>"scaling"; print alone / two >>"whole"}'
done
row 'text to shards, one thread ÷ two' scaling 1.9
row 'the encoder alone ÷ text to shards, two threads' whole 0.8
