#!/usr/bin/env bash
# Checkpoints written while training goes on hold the state of their step; they are announced once they are whole.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards

options=(--steps 12 --save-every 1)
expect_exit 0 train plain "${options[@]}" --no-background-save --grad-lanes 4
for way in "threads=1 --zero 0" "threads=4 --zero 3" "mpi=2 --zero 0" "mpi=4 --zero 1 --zero-group 2"; do
  read -ra words <<<"$way"
  run=run_${words[0]}
  expect_exit 0 train_as "${words[0]}" "$run" "${options[@]}" --grad-lanes 4 "${words[@]:1}"
  expect_equal "$(grep -c '"kind":"checkpoint"' "$run/metrics.jsonl")" 12 "$way: checkpoints announced"
  for step in 1 2 7 11 12; do
    expect_exit 0 dt-checkpoint diff "plain/checkpoints/$(printf 'step-%08d.g1' $step)" "$run/checkpoints/$(printf 'step-%08d.g1' $step)"
  done
  expect_equal "$(find "$run/checkpoints" -name '.*' | wc -l)" 0 "$way: temporary folders"
done

# What is announced is there, from the moment of its announcement, and whatever is killed.
start_training killed --steps 100000 --save-every 1 --keep-last 1000
wait_for_step killed 20
# shellcheck disable=SC2154
kill -KILL "$trainer"
wait "$trainer" || true
while read -r path; do
  expect_exit 0 dt-checkpoint verify "$path"
done < <(sed -nE 's/.*"kind":"checkpoint".*"path":"([^"]*)".*/\1/p' killed/metrics.jsonl)

# A request to stop waits for the save under way, and saves its own step.
start_training stopped --steps 100000 --save-every 3
wait_for_step stopped 7
kill -TERM "$trainer"
code=0
wait "$trainer" || code=$?
expect_equal "$code" 75 "exit"
last=$(sed -nE 's/.*"kind":"train","step":([0-9]+),.*/\1/p' stopped/metrics.jsonl | tail -n 1)
expect_equal "$(basename "$(dt-checkpoint latest stopped)")" "$(printf 'step-%08d.g1' "$last")"

# The copy is part of what --dry-run says of memory, and only where there will be one.
arguments planned --steps 10 --save-every 5
expect_exit 0 dt-train "${train_args[@]}" --dry-run --json
expect_equal "$(json_value stdout copy_bytes)" "$(json_value stdout checkpoint_bytes)"
expect_exit 0 dt-train "${train_args[@]}" --dry-run --json --no-background-save
expect_equal "$(json_value stdout copy_bytes)" 0
