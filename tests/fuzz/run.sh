#!/usr/bin/env bash
# run.sh BUILD SECONDS [TARGET...]: gives each fuzz target SECONDS, one after the other, for inputs of up to 1 MB, each of which
# gets 10 s and 512 MiB. First come the large inputs that make_seeds.py makes, in which work that grows with the square shows.
# BUILD/fuzz/TARGET/ has new units in found/, what broke it in broken/ and libFuzzer's words in log. A target that breaks does
# not keep the others from running.
set -uo pipefail
build=${1:?usage: run.sh BUILD SECONDS [TARGET...]}
seconds=${2:?usage: run.sh BUILD SECONDS [TARGET...]}
shift 2
here=$(dirname "${BASH_SOURCE[0]}")
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || mapfile -t targets < <(cd "$here/corpus" && printf '%s\n' *)
[[ -n ${TMPDIR:-} || ! -w /dev/shm ]] || export TMPDIR=/dev/shm  # every input is a file for some
export ASAN_OPTIONS=quarantine_size_mb=16  # what is freed does not count
bounds=(-timeout=10 -rss_limit_mb=512 -max_len=1000000)
failed=0
for target in "${targets[@]}"; do
  folder=$build/fuzz/$target
  mkdir -p "$folder"/{found,broken,large}
  python3 "$here/make_seeds.py" --large "$target" "$folder/large"
  fuzz=("$build/bin/fuzz_$target" "${bounds[@]}" -artifact_prefix="$folder/broken/")
  if ! { "${fuzz[@]}" -runs=0 "$folder/large" &&
    "${fuzz[@]}" -max_total_time="$seconds" -print_final_stats=1 "$folder/found" "$here/corpus/$target"; } >"$folder/log" 2>&1; then
    echo "fuzz: $target BROKE: $folder/log" >&2
    failed=1
  fi
  echo "$target: $(sed -nE 's/^stat::number_of_executed_units: *//p' "$folder/log") inputs"
done
exit "$failed"
