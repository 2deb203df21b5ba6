#!/usr/bin/env bash
# A run of four nodes that is stopped goes on with two and ends with the bits of an undisturbed run.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards
job_options 100
slow_links 100mbit
undisturbed whole

job=$(submit_training run 4)
wait_for_step run 25
# The ranks save; the script does not bring a cancelled job back.
on_login scancel "$job"
wait_for_job "$job" 40 CANCELLED
wait_until 40 "the end of job $job's ranks" grep -q '"kind":"stop","reason":"SIGTERM"' run/metrics.jsonl
step=$(losses run | tail -n 1 | cut -d' ' -f1)
expect_exit 0 dt-checkpoint list run
expect_match stdout "^ *$step .*dp=4"

job=$(submit_training run 2)
wait_for_job "$job" 90
expect_match run/metrics.jsonl "\"kind\":\"resume\".*\"step\":$step,"
expect_exit 0 dt-checkpoint list run
expect_match stdout '^ *100 .*dp=2'
expect_same_model whole run
