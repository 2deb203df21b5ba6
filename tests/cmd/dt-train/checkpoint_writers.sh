#!/usr/bin/env bash
# Ranks of a node may write a checkpoint's files together: fewer files, the same bytes in them.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards

options=(--steps 5 --save-every 2 --grad-lanes 4)
expect_exit 0 train plain "${options[@]}"
merged_state() { dt-merge --quiet --with-optimizer "$1" --out "$2" >/dev/null || fail "dt-merge $1"; }
for step in 2 4 5; do merged_state "plain/checkpoints/step-0000000$step.g1" "plain.$step.h5"; done

# expect_files RUN COUNT: of ranks, in every checkpoint; the state is that of one rank's.
expect_files() {
  local step checkpoint
  for step in 2 4 5; do
    checkpoint=$1/checkpoints/step-0000000$step.g1
    expect_equal "$(find "$checkpoint" -name 'rank-*.h5' | wc -l)" "$2" "files of $checkpoint"
    expect_equal "$(find "$checkpoint" -type f | wc -l)" "$(($2 + 1))" "all files of $checkpoint"
    expect_exit 0 dt-checkpoint verify "$checkpoint"
    merged_state "$checkpoint" merged.h5
    cmp merged.h5 "plain.$step.h5" || fail "the state of $checkpoint"
    rm merged.h5
  done
}

run=0
while read -r kind files way; do
  run=$((run + 1))
  read -ra words <<<"$way"
  expect_exit 0 train_as "$kind" "run$run" "${options[@]}" "${words[@]}"
  expect_files "run$run" "$files"
done <<'WAYS'
threads=1 1 --checkpoint-writers-per-node 3
threads=4 4 --zero 0
threads=4 1 --zero 0 --checkpoint-writers-per-node 1
threads=4 2 --zero 3 --checkpoint-writers-per-node 2
threads=4 3 --zero 1 --zero-group 2 --checkpoint-writers-per-node 3 --no-background-save
mpi=4 1 --zero 1 --checkpoint-writers-per-node 1
mpi=4 2 --zero 0 --checkpoint-writers-per-node 2 --no-background-save
mpi=2 2 --zero 0 --checkpoint-writers-per-node 99
WAYS

# Each node has its own: two that are one.
if unshare --uts true 2>/dev/null; then
  cat >on_node.sh <<'NODE'
exec unshare --uts bash -c 'hostname node$((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} / 2)) && exec dt-train "$@"' dt-train "$@"
NODE
  arguments nodes "${options[@]}" --zero 1 --checkpoint-writers-per-node 1
  expect_exit 0 mpi 4 bash on_node.sh "${train_args[@]}"
  expect_files nodes 2
fi

# A run may change it, and what it wrote loads into any number of ranks.
expect_exit 0 train_as threads=2 run3 --steps 6 --grad-lanes 4
expect_exit 0 train plain --steps 6 --grad-lanes 4
expect_same_model plain run3

# Whoever does not write needs a copy, which --dry-run counts.
arguments planned --steps 4 --save-every 2 --no-background-save --comm threads=2 --checkpoint-writers-per-node 1
expect_exit 0 dt-train "${train_args[@]}" --dry-run --json
expect_equal "$(json_value stdout copy_bytes)" $(($(json_value stdout checkpoint_bytes) / 2))
arguments planned --steps 4 --save-every 2 --no-background-save --comm threads=2 --checkpoint-writers-per-node 2
expect_exit 0 dt-train "${train_args[@]}" --dry-run --json
expect_equal "$(json_value stdout copy_bytes)" 0

refused() {
  expect_exit 2 dt-train --data shards "$@"
  expect_match stderr checkpoint-writers-per-node
}
refused --model llama-tiny --run refused --steps 2 --checkpoint-writers-per-node 0
refused --run plain --eval-only --checkpoint-writers-per-node 1
refused --model llama-tiny --steps 2 --compare-layouts dp=1 --checkpoint-writers-per-node 1
expect_absent refused
