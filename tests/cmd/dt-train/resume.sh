#!/usr/bin/env bash
# A run that is stopped or killed and started again ends as one that was never disturbed.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

common=(--steps 40 --save-every 5 --grad-lanes 4)
train whole "${common[@]}" >/dev/null || fail "undisturbed run"

# Ten SIGKILLs at random moments of a run that is otherwise too quick to hit: each life is at most 0.6 s long.
for ((kill = 0; kill < 10; ++kill)); do
  train killed "${common[@]}" >/dev/null 2>&1 &
  trainer=$!
  sleep "0.$((RANDOM % 50 + 10))"
  kill -KILL "$trainer" 2>/dev/null || true
  wait "$trainer" 2>/dev/null || true
done
expect_exit 0 train killed "${common[@]}"
expect_same_model whole killed
expect_equal "$(losses killed)" "$(losses whole)" "losses"
expect_equal "$(tail -n 3 killed/metrics.jsonl | grep -o '"data_digest":"[^"]*"')" \
  "$(tail -n 3 whole/metrics.jsonl | grep -o '"data_digest":"[^"]*"')" "data digests"

# Lanes are kept where the second start does not name them.
constant=(--schedule constant --warmup-steps 0)
train lanes_whole --steps 40 --grad-lanes 4 "${constant[@]}" >/dev/null || fail "whole"
train lanes --steps 20 --grad-lanes 4 "${constant[@]}" >/dev/null || fail "first half"
train lanes --steps 40 "${constant[@]}" >/dev/null || fail "second half"
expect_same_model lanes_whole lanes
# And other lanes are another sum, so this comparison can fail.
train one_lane --steps 40 "${constant[@]}" >/dev/null || fail "one lane"
if cmp -s "$(merged lanes_whole)" "$(merged one_lane)"; then fail "four lanes and one gave the same bits"; fi

# --resume says where it goes on; auto starts anew in an empty folder; a checkpoint can be named from another run.
expect_exit 0 train lanes --steps 41 --schedule constant --warmup-steps 0
expect_match stderr 'going on from .*step-00000040.g2'
expect_exit 0 train branch --steps 41 --resume whole/checkpoints/step-00000010.g1
expect_match branch/metrics.jsonl '"kind":"resume".*"checkpoint":"whole/checkpoints/step-00000010.g1"'
expect_exit 0 train whole --steps 2 --resume never
expect_match whole/metrics.jsonl '"kind":"start".*"generation":2'
