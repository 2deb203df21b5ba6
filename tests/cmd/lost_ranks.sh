# Sourced by cases that lose ranks.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/ranks.sh"

at_exit() {
  [[ -z ${launcher:-} ]] || { ranks_of "$launcher"; echo "$launcher"; } | xargs -r kill -KILL 2>/dev/null || true
}

# expect_over WHAT: the launcher and every rank that it had (in $pids) end by themselves; its exit code in $code.
expect_over() {
  local deadline=$((SECONDS + ${hang_s:?})) pid
  while kill -0 "$launcher" 2>/dev/null; do
    ((SECONDS <= deadline)) || fail "$1: the job hangs: $(cat launcher.err)"
    sleep 0.1
  done
  code=0
  # shellcheck disable=SC2034 # for cases to look at
  wait "$launcher" || code=$?
  for pid in $pids; do
    while kill -0 "$pid" 2>/dev/null; do
      ((SECONDS <= deadline)) || fail "$1: process $pid is left"
      sleep 0.1
    done
  done
}
# start N RUN [options]: until it trains.
start() {
  start_ranks "$@"
  wait_for_step "$2" 3
  pids=$(ranks_of "$launcher")
  expect_equal "$(wc -w <<<"$pids")" "$1" "ranks"
}
nth() { sed -n "$1p" <<<"$pids"; }
