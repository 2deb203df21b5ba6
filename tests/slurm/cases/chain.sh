#!/usr/bin/env bash
# The chain of jobs/submit.sh: shards, training on two nodes that takes more than one time limit, a merged model with the bits of an
# undisturbed run. A stage that fails takes those after it along.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards
job_options 160
slow_links 20mbit
export DT_INPUT=text DT_DATA=chain_shards DT_SHARD_ARGS="--val-fraction 0.2" DT_RUN=chain DT_OUT=chain.h5
# Whatever a site needs reaches the ranks: variables of a file to source, options of srun's, words before each tool.
cat >site.sh <<'END'
export NCCL_SOCKET_IFNAME=lo
: $NOT_SET_BEFORE # as modules' scripts do
END
export DT_PRELUDE=site.sh DT_SRUN="--label $mpi_option" DT_WRAPPER="env NCCL_DEBUG=WARN"

id_of() { sed -nE "s/^$1=([0-9]+)$/\1/p" stdout; }

# Slurm counts limits in minutes, and signals up to 30 s before it was asked to: between 5 and 35 s after the start.
DT_TRAIN_SBATCH="-N 2 --time=1 --signal=USR1@25" expect_exit 0 on_login "$jobs/submit.sh"
shard=$(id_of shard) train=$(id_of train) merge=$(id_of merge)
expect_equal "$(cut -d= -f1 stdout | tr '\n' ' ')" "shard train merge "
wait_for_job "$shard" 30
wait_until 90 "the next allocation" has_generations chain 2
slow_links none
wait_for_job "$train" 60
wait_for_job "$merge" 30
(($(job_field "$train" Restarts) >= 1)) || fail "the time limit did not strike"
expect_match "dt-train-$train.log" '^requeue: exit code 75'
expect_match "dt-train-$train.log" '^0: +step +loss'
expect_match "chain/metrics.jsonl" '"kind":"stop","reason":"SIGUSR1"'
expect_equal "$(num_generations chain)" "$(($(job_field "$train" Restarts) + 1))" "starts"
expect_match chain/generations/0001.json '"NCCL_SOCKET_IFNAME": "lo"'
expect_match chain/generations/0001.json '"NCCL_DEBUG": "WARN"'
undisturbed whole
cmp chain.h5 "$(merged whole)" || fail "the chain's model differs from the undisturbed run's"

# A merge that is started again leaves the model that it finds, unless it was to replace another.
touch --date=2001-01-01 chain.h5
SLURM_RESTART_COUNT=1 expect_exit 0 bash "$jobs/merge.sbatch"
expect_match stdout 'chain.h5 already exists'
expect_equal "$(date --reference=chain.h5 +%Y)" 2001
SLURM_RESTART_COUNT=1 expect_exit 0 bash "$jobs/merge.sbatch" --overwrite
[[ $(date --reference=chain.h5 +%Y) != 2001 ]] || fail "a merge that is started again with --overwrite left the model that it found"
cmp chain.h5 "$(merged whole)" || fail "a merge that is started again with --overwrite made another model"

# Shards that are there are checked, not made again.
again=$(on_login sbatch --parsable "$jobs/shard.sbatch")
wait_for_job "$again" 30
expect_match "dt-shard-$again.log" 'already exists; verifying it'
rm chain_shards/train-00000.h5
again=$(on_login sbatch --parsable "$jobs/shard.sbatch")
wait_for_job "$again" 30 FAILED

# A job that Slurm may not start again saves, says so and ends with 75. A file to source that is not there is named.
job=$(DT_TRAIN_ARGS=${DT_TRAIN_ARGS/--steps 160/--steps 100000} submit_training never_again 1 --no-requeue)
wait_until 60 "a step" grep -qs '"kind":"train"' never_again/metrics.jsonl
on_login scancel --signal=USR1 "$job"
wait_for_job "$job" 30 FAILED
expect_equal "$(job_field "$job" ExitCode)" "75:0"
expect_match "dt-train-$job.log" '^no requeue: exit code 75, .*sbatch --no-requeue'
job=$(DT_PRELUDE=no-such-file on_login sbatch --parsable "$jobs/merge.sbatch")
wait_for_job "$job" 30 FAILED
expect_equal "$(job_field "$job" ExitCode)" "4:0"
expect_match "dt-merge-$job.log" 'DT_PRELUDE=no-such-file'

# No text: no job for shards. Arguments reach dt-train; its failure ends the chain.
unset DT_INPUT
DT_RUN=other expect_exit 0 on_login "$jobs/submit.sh" --no-such-option
expect_equal "$(cut -d= -f1 stdout | tr '\n' ' ')" "train merge "
train=$(id_of train) merge=$(id_of merge)
wait_for_job "$train" 30 FAILED
expect_equal "$(job_field "$train" ExitCode)" "2:0"
wait_for_job "$merge" 30 CANCELLED
# A stage that cannot be submitted leaves none behind.
DT_MERGE_SBATCH="--partition=nowhere" expect_exit 1 on_login "$jobs/submit.sh"
wait_for_job "$(id_of train)" 30 CANCELLED
