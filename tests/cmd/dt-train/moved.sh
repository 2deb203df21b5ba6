#!/usr/bin/env bash
# A run's folder that is moved or replaced while a job trains in it: the job ends, and leaves nothing in what has its name now.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards
endless=(--quiet --schedule constant --warmup-steps 0 --steps 1000000 --save-every 20 --keep-last 1)
# begin RUN: in the background, as process $trainer, until it has saved.
begin() {
  arguments "$1" "${endless[@]}"
  dt-train "${train_args[@]}" >/dev/null 2>"$1.err" &
  trainer=$!
  wait_for_step "$1" 50
}
# expect_told RUN: what finds its folder gone amid a save says so in the system's words.
expect_told() {
  local code=0
  wait "$trainer" || code=$?
  ((code == 3 || code == 4)) || fail "exit $code of the job whose folder went: $(cat "$1.err")"
  expect_match "$1.err" "was moved or replaced while|No such file or directory"
}

begin run
mv run away
expect_told run
expect_absent run
expect_exit 0 dt-checkpoint verify "$(dt-checkpoint latest away)"

begin replaced
kill -STOP "$trainer"  # so that it does not find the place empty
mv replaced was
train replaced --quiet --steps 3 >/dev/null || fail "a new run"
kill -CONT "$trainer"
expect_told replaced
expect_equal "$(find replaced/checkpoints -mindepth 1 -maxdepth 1 -printf '%f ')" "step-00000003.g1 " "the new run's checkpoints"

begin copied
kill -STOP "$trainer"
cp -r copied copy && mv copied original && mv copy copied
kill -CONT "$trainer"
expect_told copied

# What was moved goes on under its new name, and says so.
step=$(dt-checkpoint latest away | sed -nE 's/.*step-0*([0-9]+)\..*/\1/p')
expect_exit 0 train away --steps $((step + 1)) --schedule constant --warmup-steps 0
expect_match stderr "away was copied or moved from .*/run: using the run.json found here, .*/away/run.json"
expect_exit 0 train away --steps $((step + 2)) --schedule constant --warmup-steps 0
if grep -q 'copied or moved from' stderr; then fail "it has been here before"; fi
