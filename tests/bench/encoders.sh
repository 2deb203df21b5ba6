#!/usr/bin/env bash
# encoders.sh: text to ids on one core, compared with tiktoken and Hugging Face's tokenizers. DT_BENCH_PYTHON names a Python interpreter
# that has both. DT_BENCH_ENGLISH and DT_BENCH_CODE name texts; the default is up to 20 MB of each from this machine. DT_BENCH_RANKS names
# tiktoken's ranks, PATTERN.tiktoken; without it, the script learns 32,000 tokens from both texts.
# Exit code 77: there is no such interpreter.
set -euo pipefail
[[ -n ${DT_BENCH_PYTHON:-} ]] || {
  echo "text to ids against tiktoken and Hugging Face's tokenizers: DT_BENCH_PYTHON names no python that has them"
  exit 77
}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT

# texts FOLDER... -- PATTERN...: up to 20 MB of the files of these names, but for huge ones
texts() {
  local folders=() names=()
  while [[ $1 != -- ]]; do folders+=("$1") && shift; done
  shift
  for pattern in "$@"; do names+=(-o -name "$pattern"); done
  find "${folders[@]}" -type f -size -300k \( "${names[@]:1}" \) -print0 2>/dev/null | sort -z | xargs -0r cat | iconv -c -f utf-8 -t utf-8 |
    head -c 20000000 | iconv -c -f utf-8 -t utf-8
}
english=${DT_BENCH_ENGLISH:-$dir/english}
code=${DT_BENCH_CODE:-$dir/code}
[[ -e $english ]] || texts /usr/share/doc /usr/share/perl /usr/lib/python3* -- '*.txt' '*.pod' '*.rst' '*.html' copyright >"$english" || true
[[ -e $code ]] || texts /usr/include /usr/lib/python3* -- '*.h' '*.hpp' '*.py' >"$code" || true # head ends the pipe

ranks=${DT_BENCH_RANKS:-$dir/tokenizer.json}
[[ -e $ranks ]] || dt-shard-data --quiet --train-bpe 32000 --save-tokenizer "$ranks" "$english" "$code" >/dev/null
core=$(awk '/^Cpus_allowed_list/ {sub(/[-,].*/, "", $2); print $2}' /proc/self/status)
taskset -c "$core" "$DT_BENCH_PYTHON" "$here/../python/time_encoders.py" "$ranks" "English=$english" "code=$code"
