#!/usr/bin/env bash
# Tasks of a step share the work by what srun tells them, also where one is killed; the dataset is the same, and one of them speaks.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

awk 'BEGIN {for (i = 0; i < 1000000; ++i) print "{\"text\": \"" i " is the number of a text that goes on and on\"}"}' >text.jsonl
inputs=(text.jsonl text.jsonl text.jsonl text.jsonl)
expect_exit 0 dt-shard-data --quiet --deduplicate --threads 1 --out one "${inputs[@]}"

# task NUMBER ARGUMENT...: for a subshell, which it becomes
task() {
  local number=$1
  shift
  exec env SLURM_JOB_ID=1 SLURM_STEP_ID="$step" SLURM_PROCID="$number" SLURM_STEP_NUM_TASKS=3 \
    dt-shard-data --quiet --json --threads 1 --share-tasks "$@" >"stdout.$number" 2>"stderr.$number"
}
# share ARGUMENT...: three tasks, of which the first comes last
share() {
  task 2 "$@" &
  local second=$!
  task 1 "$@" &
  local third=$!
  sleep 0.3
  (task 0 "$@")
  wait "$second"
  wait "$third"
}

step=0
share --deduplicate --out three "${inputs[@]}"
cmp one/dataset.json three/dataset.json
expect_match stdout.0 '"documents":1000000,'
cat stdout.1 stdout.2 stderr.* >others
expect_equal "$(cat others)" ""
expect_equal "$(find . -name '.*.partial')" ""

# What killed ones have not done, the first does.
step=1
task 0 --deduplicate --out killed "${inputs[@]}" &
first=$!
for number in 1 2; do
  task "$number" --deduplicate --out killed "${inputs[@]}" &
  others[number]=$!
done
until compgen -G '.killed.partial/spool-*/.range-*' >/dev/null; do sleep 0.01; done
kill -s KILL "${others[@]}"
wait "$first"
cmp one/dataset.json killed/dataset.json
expect_equal "$(find . -name '.*.partial')" ""

# If one task refuses its command, no task waits for it.
step=2
code=0
(task 0 --out killed "${inputs[@]}") || code=$?
expect_equal "$code" 3
expect_exit 3 env SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=1 dt-shard-data --share-tasks --out piped < <(cat text.jsonl)
expect_match stderr 'each task reads a part of the inputs, but a pipe can be read only once'

# A task whose parent is a shell works alone: each of these makes its own dataset. Two that make the same one are two runs.
head -n 1000 text.jsonl >few.jsonl
for number in 0 1; do
  expect_exit 0 env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID="$number" dt-shard-data --quiet --out "own$number" few.jsonl
  expect_exit 0 env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID="$number" dt-shard-data --quiet --out "piped$number" <few.jsonl
  cmp own0/dataset.json "own$number/dataset.json"
done
expect_exit 3 env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 dt-shard-data --out own0 few.jsonl

# A helper that was given other inputs than task 0 says so.
step=3
task 0 --out differs "${inputs[@]}" &
first=$!
until [[ -e .differs.partial/begun.json ]]; do sleep 0.01; done
code=0
(task 1 --out differs few.jsonl) || code=$?
expect_equal "$code" 2
expect_match stderr.1 "this task's command differs from that of task 0 .inputs"
wait "$first"
