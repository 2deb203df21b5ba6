#!/usr/bin/env bash
# Four nodes that divide weights, gradients and the optimizer's state lose one: the job is requeued, goes on, and ends with the bits
# of an undisturbed run that divided nothing. Before it, the allocation proves its layouts.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards
job_options 60
undisturbed whole

job=$(DT_DATA=shards DT_TRAIN_ARGS="--steps 5 --global-batch 4 --micro-batch 1 --sequence-length 64 --threads 1" \
  on_login sbatch --parsable -N 4 "$jobs/prove.sbatch")
wait_for_job "$job" 120
expect_equal "$(grep -c 'equal weights$' "dt-prove-$job.log")" 6 "layouts that proved equal"

slow_links 100mbit
export DT_TRAIN_ARGS="$DT_TRAIN_ARGS --zero 3"
job=$(submit_training run 4)
wait_for_step run 25
mapfile -t nodes < <(nodes_of "$job")
cluster kill-node "${nodes[2]}"
give_up "${nodes[2]}"
cluster revive "${nodes[2]}"
wait_until 90 "the restart" has_generations run 2
wait_for_job "$job" 120
expect_exit 0 dt-checkpoint list run
expect_match stdout '^ *60 .*dp=4,tp=1,zero=3'
expect_same_model whole run
