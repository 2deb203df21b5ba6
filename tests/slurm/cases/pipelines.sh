#!/usr/bin/env bash
# Two pipelines on four nodes lose one: started again on the three that are left, of which one sits out, the run goes on and ends with
# the bits of an undisturbed run of one rank.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards
job_options 60
undisturbed whole
slow_links 100mbit

export DT_TRAIN_ARGS="$DT_TRAIN_ARGS --pp 2"
job=$(submit_training run 4)
wait_for_step run 25
mapfile -t nodes < <(nodes_of "$job")
cluster kill-node "${nodes[2]}"
give_up "${nodes[2]}"
on_login scancel "$job" # it would wait for a fourth node
job=$(submit_training run 3)
wait_until 90 "the restart" has_generations run 2
wait_for_job "$job" 120
expect_equal "$(job_field "$job" NumNodes)" 3 "nodes of the second life"
expect_match "dt-train-$job.log" 'warning: 1 of 3 ranks is idle: each pipeline needs 2 ranks'
expect_match run/generations/0002.json '"continues_step": ?[1-9]'
expect_exit 0 dt-checkpoint list run
expect_match stdout '^ *60 +2 .*pp=2,dp=1'
expect_same_model whole run
