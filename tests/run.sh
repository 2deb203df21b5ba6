#!/usr/bin/env bash
# run.sh BUILD [unit|long]: runs the tests of a build and says which were skipped and why.
set -uo pipefail
build=${1:?usage: run.sh BUILD [unit|long]}
kind=${2:-}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
select=(-LE '^long$')
[[ -z $kind ]] || select=(-L "^$kind\$")

# schedule.cmake says which tests run alone nevertheless. Unit programs wait for more than half of their time,
# so two more of them run than there are processors.
parallel=$(nproc)
[[ $kind != unit ]] || parallel=$((parallel + 2))
ctest --test-dir "$build" --parallel "$parallel" --output-on-failure --no-tests=error "${select[@]}" | tee "$log"
status=${PIPESTATUS[0]}

# A case that skips prints "SKIP: reason" last; ctest keeps its output in its own log.
skipped=$(grep -hoE '^SKIP: .*' "$build/Testing/Temporary/LastTest.log" | sort | uniq -c)
if [[ -n $skipped ]]; then
  echo "skipped:"
  echo "$skipped"
fi
total=$(sed -nE 's/.*tests failed out of ([0-9]+).*/\1/p' "$log" | tail -n 1)
failed=$(sed -nE 's/.* ([0-9]+) tests failed out of .*/\1/p' "$log" | tail -n 1)
num_skipped=$(grep -cE '\*\*\*Skipped' "$log")
echo "$((${total:-0} - ${failed:-0} - num_skipped)) passed, ${failed:-0} failed, $num_skipped skipped"
exit "$status"
