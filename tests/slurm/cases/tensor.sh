#!/usr/bin/env bash
# Layers that four nodes share, as two stages of a pipeline, until one dies; then all share the batch alone; then two each sequence; then
# all four each layer: the losses of an undisturbed run of one rank but for rounding, from the same data, and a model that transformers loads.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards
job_options 150
undisturbed whole

job=$(DT_DATA=shards DT_TRAIN_ARGS="--steps 5 --global-batch 4 --micro-batch 1 --sequence-length 64 --threads 1 --tp 2 --sequence-parallel" \
  on_login sbatch --parsable -N 4 "$jobs/prove.sbatch")
wait_for_job "$job" 120
expect_match "dt-prove-$job.log" '^zero=1 .*losses within 1e-05$'

slow_links 100mbit
base=$DT_TRAIN_ARGS

# submit_layout OPTIONS: the run on four nodes; as $job.
submit_layout() {
  DT_TRAIN_ARGS="$base $1"
  job=$(submit_training run 4)
}
# newest_layout STEP LAYOUT: of the run's newest checkpoint.
newest_layout() {
  expect_exit 0 dt-checkpoint list run
  tail -n 1 stdout >newest
  expect_match newest "^ *$1 .*$2"
}

submit_layout "--tp 2 --pp 2"
wait_for_step run 25
mapfile -t nodes < <(nodes_of "$job")
cluster kill-node "${nodes[2]}"
give_up "${nodes[2]}"
on_login scancel "$job" # it would go on with the same layout
wait_until 90 "the end of job $job" has_state "$job" CANCELLED # its ranks wait for a dead one until they are killed
expect_match "dt-train-$job.log" 'tensor parallelism over 2 ranks: each rank sends .*, all of it between nodes'
newest_layout '[2-9]0' 'pp=2,dp=1,tp=2' # it went on until its node was dead
cluster revive "${nodes[2]}"

# go_on OPTIONS GENERATION LAYOUT: a start that is cancelled after a few steps.
go_on() {
  submit_layout "$1"
  wait_until 90 "start $2" has_generations run "$2"
  local steps_before
  steps_before=$(steps_made)
  wait_until 60 "five steps" has_made "$((steps_before + 5))"
  on_login scancel "$job"
  wait_for_job "$job" 90 CANCELLED
  wait_until 40 "the end of job $job's ranks" has_stops "$(($2 - 1))"
  newest_layout "$(stops | tail -n 1)" "$3"
}
steps_made() { grep -c '"kind":"train"' run/metrics.jsonl; }
has_made() { (($(steps_made) >= $1)); }
stops() { sed -nE 's/.*"kind":"stop","reason":"SIGTERM","step":([0-9]+).*/\1/p' run/metrics.jsonl; }
has_stops() { (($(stops | wc -l) == $1)); }
go_on "--pp 1 --tp 1 --zero 3" 2 'dp=4,tp=1,zero=3'
expect_match run/generations/0002.json '"continues_step": ?[2-9]0'
go_on "--cp 2 --zero 3" 3 'dp=2,cp=2,tp=1,zero=3'

submit_layout "--tp 4 --cp 1 --zero 0"
wait_for_job "$job" 120
expect_match "dt-train-$job.log" 'results will not be bit-identical to the earlier run: tp 1 → 4'
newest_layout 150 'dp=1,tp=4'
expect_close "$(losses run)" "$(losses whole)" 1e-5 "losses"
expect_equal "$(digest_of run)" "$(digest_of whole)" "data digests"

# Ranks that share layers are of one node, whatever the launcher's numbers, unless those are to be taken: then what they exchange passes
# the links, as much as the warning says that each of a node's two sends, in each of four steps, and a little for an evaluation.
slow_links none
job_options 4
sent() { on_login cat /proc/net/dev | sed -nE 's/^ *n1: *([0-9]+) .*/\1/p'; }
cyclic() {
  expect_exit 0 on_login srun "$mpi_option" -N 2 -n 4 --distribution=cyclic dt-train --quiet --data shards --run "$1" "${options[@]}" \
    --tp 2 --placement "$1"
}
cyclic hosts
! grep "of it between nodes" stderr || fail "ranks that share layers are apart"
before=$(sent)
cyclic launcher
bytes=$(($(sent) - before))
expect_match stderr 'each rank sends .* per step, all of it between nodes'
warned=$(sed -nE 's/.* each rank sends ([0-9.]+) ([KM]iB) per step.*/\1\2/p' stderr | numfmt --from=iec-i --suffix=B --to=none | tr -d B)
((bytes >= 8 * warned && bytes < 10 * warned)) || fail "$bytes bytes left a node of two ranks in four steps, where each was to send $warned a step"

export DT_RUN=run DT_OUT=model
job=$(on_login sbatch --parsable "$jobs/merge.sbatch")
wait_for_job "$job" 30
loss() { dt-train --quiet --json --eval-only --data shards --sequence-length 64 --threads 1 "$@" | sed -nE 's/.*"val_loss":([^,]+),.*/60 \1/p'; }
merged=$(loss --init-from model)
expect_close "$merged" "$(loss --run whole)" 1e-5 "evaluation"
message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python" 2>&1) || skip "the rest needs torch and transformers: $message"
expect_exit 0 "$DT_BUILD/python/bin/python" "$DT_TESTS/python/hf_loss.py" model shards/validation-00000.h5 64
expect_close "60 $(cat stdout)" "$merged" 1e-5 "transformers' loss"
