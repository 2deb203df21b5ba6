#!/usr/bin/env bash
# What does not end is said, by whoever waits for it, and no process stays.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
at_exit() {
  [[ -z ${launcher:-} ]] || { ranks_of "$launcher" dt-allreduce-be; echo "$launcher"; } | xargs -r kill -KILL 2>/dev/null || true
}
refuse() { expect_exit 2 dt-allreduce-bench --timeout "$1"; expect_match stderr "'$1' for option '--timeout'; expected $2"; }
refuse 0 "a time above 0"
refuse soon "a number of seconds"

# One of two ranks stops answering, in the midst of very many short operations. Few are measured at a time: on a busy machine each waits for
# the other rank's turn, since MPI's own do not yield.
for backend in mpi dt; do
  for victim in 1 2; do
    : >table # the last one's would be taken for this one's
    "${launch[@]}" -n 2 dt-allreduce-bench --backend "$backend" -b 8 -e 8Mi -i 8 -n 2 -w 1 --timeout 5s >table 2>launcher.err &
    launcher=$!
    deadline=$((SECONDS + ${hang_s:?}))
    until [[ $(grep -c '^ ' table) -gt 5 ]]; do
      { ((SECONDS <= deadline)) && kill -0 "$launcher" 2>/dev/null; } || fail "nothing is measured: $(cat launcher.err)"
      sleep 0.1
    done
    pids=$(ranks_of "$launcher" dt-allreduce-be)
    expect_equal "$(wc -w <<<"$pids")" 2 "ranks"
    kill -STOP "$(sed -n "${victim}p" <<<"$pids")"
    deadline=$((SECONDS + ${hang_s:?}))
    for pid in $launcher $pids; do
      while kill -0 "$pid" 2>/dev/null; do
        ((SECONDS <= deadline)) || fail "$backend: process $pid is left: $(cat launcher.err)"
        sleep 0.1
      done
    done
    code=0
    wait "$launcher" || code=$?
    expect_equal "$code" 4 "exit with --backend $backend when rank $((victim - 1)) is stopped"
    expect_match launcher.err "error: rank $((2 - victim)) on $(hostname): all_reduce of [0-9]+ bytes by $backend did not complete within 5 s; .*--timeout"
  done
done

# So is what is merely slower than allowed.
expect_exit 4 dt-allreduce-bench -o barrier -n 1000000000 --timeout 1s
expect_match stderr "error: barrier of 0 bytes by dt did not complete within 1 s"
