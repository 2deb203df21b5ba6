# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
# Sourced by cases with zombies: nodes whose slurmd dies keep their ranks, which know nothing, while Slurm starts the job again elsewhere.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# zombie_trials COUNT: of three kinds. The zombies work on; they hang meanwhile and awake when the next life is ahead of them; their
# whole node does, daemon and all.
zombie_trials() {
  local count=$1 trial job node run nodes
  make_shards shards
  job_options 150
  slow_links 100mbit
  undisturbed whole
  for ((trial = 1; trial <= count; ++trial)); do
    run=run$trial
    job=$(submit_training "$run" 2)
    wait_for_step "$run" "$((RANDOM % 40 + 15))"
    mapfile -t nodes < <(nodes_of "$job")
    for node in "${nodes[@]}"; do
      ((trial % 3 == 0)) || cluster kill-slurmd "$node"
      ((trial % 3 == 1)) || cluster freeze "$node"
    done
    give_up "${nodes[@]}"
    wait_until 60 "the restart of trial $trial" has_generations "$run" 2
    if ((trial % 3 != 1)); then
      wait_until 60 "the first save of trial $trial's next life" has_checkpoint "$run" 2
      for node in "${nodes[@]}"; do cluster thaw "$node"; done
    fi
    wait_for_job "$job" 120
    expect_same_model whole "$run"
    expect_one_lineage "$run"
    # The zombies' script leaves its job's next life alone.
    expect_equal "$(job_field "$job" Restarts)" 1 "restarts"
    # What is left of them.
    for node in "${nodes[@]}"; do
      cluster kill-node "$node"
      cluster revive "$node"
    done
    echo "trial $trial: $(grep -c '"kind":"checkpoint"' "$run/metrics.jsonl") checkpoints"
  done
}

has_checkpoint() { compgen -G "$1/checkpoints/step-*.g$2" >/dev/null; }

# expect_one_lineage RUN: generation 1 left nothing in the lineage after the step that generation 2 went on from.
expect_one_lineage() {
  local from
  from=$(sed -nE 's/.*"continues_step": ?([0-9]+).*/\1/p' "$1/generations/0002.json")
  expect_exit 0 dt-checkpoint list "$1"
  awk -v from="$from" 'NR > 1 && $2 == 1 && $1 > from && / yes +yes / {print; bad = 1} END {exit bad}' stdout ||
    fail "a zombie's checkpoint is in the lineage"
}
