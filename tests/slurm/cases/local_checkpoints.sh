#!/usr/bin/env bash
# A job that saves on its nodes loses one of four together with what lay on it: the next start resumes from the last local checkpoint that
# was announced, brought together from the others, and ends with the bits of an undisturbed run.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards
job_options 120
slow_links 100mbit
undisturbed whole

# Each node's /tmp is its own, and goes with it.
export DT_TRAIN_ARGS="$DT_TRAIN_ARGS --checkpoint-local /tmp/local --flush-every 1000"
newest_local() { sed -nE 's/.*"kind":"local_checkpoint","step":([0-9]+),.*/\1/p' run/metrics.jsonl 2>/dev/null | tail -n 1; }
has_local() { (($(newest_local || true) + 0 >= $1)); }
job=$(submit_training run 4)
wait_until 90 "a local checkpoint" has_local 30
mapfile -t nodes < <(nodes_of "$job")
cluster kill-node "${nodes[2]}"
wait_until 30 "the end of the other ranks" grep -q 'error: ' "dt-train-$job.log"
announced=$(newest_local)
[[ -z $(ls run/checkpoints) ]] || fail "something was saved in the run directory"
give_up "${nodes[2]}"
cluster revive "${nodes[2]}"
wait_until 90 "the restart" has_generations run 2
wait_for_job "$job" 180
resumed=$(sed -nE 's/.*"kind":"resume","reason":"checkpoint","step":([0-9]+),.*/\1/p' run/metrics.jsonl | head -n 1)
((resumed >= announced)) || fail "went on from step $resumed, step $announced was announced"
expect_match "dt-train-$job.log" 'assembled .*/checkpoints/step-[0-9]+.g1 from the local checkpoints of the nodes'
expect_match run/metrics.jsonl '"kind":"local_checkpoint".*"nodes":4'
expect_same_model whole run
expect_exit 0 dt-checkpoint verify run/checkpoints/*

# Nothing is left on the nodes, but the user's folder.
expect_exit 0 on_login srun -N 4 find /tmp/local -mindepth 2
expect_equal "$(cat stdout)" "" "shares of a run that has ended"
