#!/usr/bin/env bash
# A rank that is killed takes its job along within seconds, and no process stays; submitted again, the run ends with the bits of an
# undisturbed one.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards
job_options 120
slow_links 100mbit

ranks() {
  local pid
  for pid in $(pgrep -x dt-train); do
    if tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q -- "--run $case_dir/killed "; then echo "$pid"; fi
  done 2>/dev/null
}
no_ranks() { [[ -z $(ranks) ]]; }
job=$(submit_training "$case_dir/killed" 2)
wait_for_step killed 20
kill -KILL "$(ranks | tail -n 1)"
wait_until 10 "no rank is left" no_ranks
wait_for_job "$job" 20 FAILED
slow_links none
job=$(submit_training "$case_dir/killed" 2)
wait_for_job "$job" 60
undisturbed whole
expect_same_model whole killed
