#!/usr/bin/env bash
# Requests to stop: a checkpoint at the step it stood at, exit 75, and the run goes on later. A second SIGINT ends at once.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

common=(--steps 100000 --schedule constant)
# expect_end CODE WHEN: how $trainer ends.
expect_end() {
  local code=0
  wait "$trainer" || code=$?
  expect_equal "$code" "$1" "exit $2"
}
for signal in TERM USR1 INT; do
  # A background job of a script ignores SIGINT unless it asks for it, which dt-train does.
  start_training "$signal" "${common[@]}"
  wait_for_step "$signal" 3
  kill "-$signal" "$trainer"
  expect_end 75 "after SIG$signal"
  step=$(losses "$signal" | tail -n 1 | cut -d' ' -f1)
  [[ -d $signal/checkpoints/$(printf 'step-%08d.g1' "$step") ]] || fail "no checkpoint of step $step after SIG$signal"
  expect_match "$signal/metrics.jsonl" "\"kind\":\"stop\",\"reason\":\"SIG$signal\",\"step\":$step"
done

# At any moment: in a kernel, between steps, while evaluating.
for ((trial = 0; trial < 30; ++trial)); do
  rm -rf any
  start_training any "${common[@]}" --eval-every 3
  wait_for_step any 1
  sleep "0.0$((RANDOM % 90 + 10))"
  kill -USR1 "$trainer"
  expect_end 75 "after SIGUSR1, trial $trial"
  step=$(losses any | tail -n 1 | cut -d' ' -f1)
  [[ -d any/checkpoints/$(printf 'step-%08d.g1' "$step") ]] || fail "no checkpoint of step $step, trial $trial"
done

# A step that takes long: the first SIGINT waits for it, the second does not.
start_training long --sequence-length 256 --global-batch 4096 --micro-batch 64 --steps 10
for ((tries = 0; tries < 400; ++tries)); do grep -qs start long/metrics.jsonl && break; sleep 0.05; done
sleep 0.3
kill -INT "$trainer"
sleep 0.2
kill -INT "$trainer"
expect_end 130 "after a second SIGINT"

# A second job on a live run is refused; the first goes on.
start_training live "${common[@]}"
wait_for_step live 2
expect_exit 4 train live "${common[@]}"
expect_match stderr "live"
kill -TERM "$trainer"
expect_end 75 "of the first job"

# A reader that goes away: saved, and the exit code of a filter.
arguments piped "${common[@]}"
code=0
{ dt-train "${train_args[@]}" 2>piped.err || echo $? >piped.code; } | head -n 2 >/dev/null
read -r code <piped.code
expect_equal "$code" 141 "exit of a run whose reader went away"
dt-checkpoint latest piped >/dev/null || fail "nothing was saved"
arguments ranks_piped "${common[@]}" --comm threads=2
{ dt-train "${train_args[@]}" 2>piped.err || echo $? >piped.code; } | head -n 2 >/dev/null
expect_equal "$(cat piped.code)" 141 "exit of ranks whose reader went away"
if grep error: piped.err; then fail "a reader that went away is no error"; fi
dt-checkpoint latest ranks_piped >/dev/null || fail "nothing was saved by ranks"

# A terminal that goes away saves first, too, unless it is not to matter.
start_training hung_up "${common[@]}"
wait_for_step hung_up 2
kill -HUP "$trainer"
expect_end 75 "of a run that is hung up"
