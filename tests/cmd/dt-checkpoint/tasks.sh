#!/usr/bin/env bash
# Tasks of an srun step divide verify's files; what cannot be divided is done by the first.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
a=$(make_checkpoint run 10 writers=4) || fail "make_checkpoint"
b=$(make_checkpoint run 20 writers=4) || fail "make_checkpoint"
# task T N COMMAND...: as srun starts it.
task() { SLURM_STEP_NUM_TASKS=$2 SLURM_PROCID=$1 dt-checkpoint "${@:3}" --share-tasks; }

for t in 0 1 2; do
  expect_exit 0 task $t 3 verify "$a" "$b" --json
  sed -nE 's/.*"files":([0-9]+).*/\1/p' stdout >>files
  expect_match stdout "\"task\":$t,\"tasks\":3"
done
expect_equal "$(awk '{n += $1} END {print n}' files)" 10 "two manifests and eight files, each once"
expect_exit 0 task 1 3 verify "$a"; expect_equal "$(cat stdout)" "$a: ok (task 1 of 3: 2 of 5 files)"

# Damage is found by exactly one; that of a manifest by all, for none can take its share.
for file in manifest.json rank-00000.h5 rank-00003.h5; do
  cp "$b/$file" good
  printf 'xxxx' | dd of="$b/$file" bs=1 seek=3000 conv=notrunc status=none
  found=0
  for t in 0 1 2; do
    code=0
    task $t 3 verify "$a" "$b" >stdout 2>stderr || code=$?
    if ((code == 5)); then
      found=$((found + 1))
      expect_match stdout "$b: $file"
    else
      expect_equal "$code" 0
    fi
  done
  expect_equal "$found" "$([[ $file = manifest.json ]] && echo 3 || echo 1)" "tasks that found the damage in $file"
  mv good "$b/$file"
done

# Outside a step of several tasks, a batch script's environment means nothing.
SLURM_PROCID=0 SLURM_NTASKS=4 expect_exit 0 dt-checkpoint verify "$a"; expect_equal "$(cat stdout)" "$a: ok"
expect_exit 0 task 1 2 prune run --keep-last 1; expect_equal "$(cat stdout)" ""
expect_match stderr 'task 1 of 2 does nothing here, because task 0'
expect_exit 0 task 1 2 latest run; expect_equal "$(cat stdout)" "$b" "what only looks answers every task"
expect_exit 4 task 5 3 verify "$a"; expect_match stderr "SLURM_PROCID is 5 in a step of 3 tasks"

# A task whose parent is not Slurm's works alone.
SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=2 expect_exit 0 dt-checkpoint verify "$a"; expect_equal "$(cat stdout)" "$a: ok"
SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=2 expect_exit 0 dt-merge "$a" --out model
expect_exit 0 env SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=2 dt-merge "$a" --out other --share-tasks
[[ ! -e other ]] || fail "task 2 did the work of task 0"
expect_match stderr 'task 2 of 3 does nothing here, because task 0'
