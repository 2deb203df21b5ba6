#!/usr/bin/env bash
# run.sh BUILD SECONDS [TARGET...]: gives each fuzz target SECONDS, one after the other. BUILD/fuzz/TARGET/ has new units in
# found/, what broke it in broken/ and libFuzzer's words in log. A target that breaks does not keep the others from running.
set -uo pipefail
build=${1:?usage: run.sh BUILD SECONDS [TARGET...]}
seconds=${2:?usage: run.sh BUILD SECONDS [TARGET...]}
shift 2
corpus=$(dirname "${BASH_SOURCE[0]}")/corpus
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || mapfile -t targets < <(cd "$corpus" && printf '%s\n' *)
[[ -n ${TMPDIR:-} || ! -w /dev/shm ]] || export TMPDIR=/dev/shm  # every input is a file for some
failed=0
for target in "${targets[@]}"; do
  folder=$build/fuzz/$target
  mkdir -p "$folder/found" "$folder/broken"
  if ! "$build/bin/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
    -print_final_stats=1 -artifact_prefix="$folder/broken/" "$folder/found" "$corpus/$target" >"$folder/log" 2>&1; then
    echo "fuzz: $target BROKE: $folder/log" >&2
    failed=1
  fi
  echo "$target: $(sed -nE 's/^stat::number_of_executed_units: *//p' "$folder/log") inputs"
done
exit "$failed"
