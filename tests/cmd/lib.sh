# shellcheck shell=bash
# Sourced by the cases in tests/cmd: helpers, and a folder of the case's own, removed at its end, as working directory.
set -euo pipefail

case_dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-case-XXXXXX")
at_exit() { :; } # a case may define its own
finish() {
  at_exit
  cd / && rm -rf "$case_dir"
}
trap finish EXIT
cd "$case_dir"

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

skip() {
  echo "SKIP: $*"
  exit 77
}

# expect_exit CODE COMMAND...: what it prints lands in ./stdout and ./stderr.
expect_exit() {
  local expected=$1 actual=0
  shift
  "$@" >stdout 2>stderr || actual=$?
  if [[ $actual != "$expected" ]]; then
    cat stdout stderr >&2
    fail "exit $actual, not $expected: $*"
  fi
}

# expect_match FILE REGEX (extended, anywhere in it)
expect_match() {
  if ! grep -qE -- "$2" "$1"; then
    cat "$1" >&2
    fail "'$2' is not in $1"
  fi
}

# expect_equal ACTUAL EXPECTED [WHAT]
expect_equal() {
  [[ $1 == "$2" ]] || fail "'$1' is not '$2'${3:+: $3}"
}

# expect_absent PATH...: nothing half-written under a final name.
expect_absent() {
  local path
  for path in "$@"; do
    [[ ! -e $path ]] || fail "$path exists"
  done
}

# bound COMMAND...: runs it bound by the permissions of files, which root is not by default.
bound() {
  if [[ $(id -u) = 0 ]]; then
    setpriv --inh-caps=-dac_override,-dac_read_search --bounding-set=-dac_override,-dac_read_search "$@"
  else
    "$@"
  fi
}

# failing_reads ERRNO FILE COMMAND...: reads of a file below the working directory fail so (a number) while the command runs.
failing_reads() {
  local state
  state=$(mktemp -p "$case_dir")
  LD_PRELOAD=$DT_BUILD/lib/libfaults.so FAULTS_ROOT=$(realpath .) FAULTS_STATE=$state FAULTS_KINDS=${kinds:-read} \
    FAULTS_PATH="^$2\$" FAULTS_ACTION="fail=$1" FAULTS_LAST=${last:-1000000} "${@:3}"
}

# A process that is to end has this long before it counts as one that hangs; a busy machine needs some of it.
# shellcheck disable=SC2034 # for cases
hang_s=120

# json_value FILE KEY: the number or string of a key in one-line JSON.
json_value() {
  sed -nE 's/.*"'"$2"'": ?"?([^",}]*)"?.*/\1/p' "$1"
}

# scratch_weights CKPT FILE: damages the last weights that its manifest says are in a file.
scratch_weights() {
  local piece=".*\"kind\":\"weights\".*\"file\":\"$2\".*\"offset\":([0-9]+),.*" offset
  offset=$(sed -nE "s/$piece/\1/p" "$1/manifest.json" | tail -n 1)
  printf 'xxxx' | dd of="$1/$2" bs=1 seek="${offset:?}" conv=notrunc status=none
}

# make_tokenizer FILE: the same as a tokenizer.json, with the special tokens <|begin_of_text|> and <|end_of_text|>.
make_tokenizer() {
  make_ranks "$1.ranks"
  printf x | dt-shard-data --quiet --tokenizer "$1.ranks" --tokenizer-pattern llama3 --no-append-eos --out "$1.data" >/dev/null ||
    fail "dt-shard-data --tokenizer $1.ranks"
  local tokens='{"id": 264, "content": "<|begin_of_text|>", "special": true}, {"id": 265, "content": "<|end_of_text|>", "special": true}'
  sed "s/\"added_tokens\": \[\]/\"added_tokens\": [$tokens]/" "$1.data/tokenizer.json" >"$1"
  rm -r "$1.ranks" "$1.data"
}

# make_ranks FILE: a tokenizer in tiktoken's format: bytes, and pairs of them that begin words.
make_ranks() {
  local i id=256 token
  for i in $(seq 0 255); do printf '%s %d\n' "$(printf %b "\\x$(printf %02x "$i")" | base64)" "$i"; done >"$1"
  for token in ' d' ' do' ' s' 'oc' ' doc' ' sa' 'ay' 'ys'; do
    printf '%s %d\n' "$(printf %s "$token" | base64)" $((id++))
  done >>"$1"
}
