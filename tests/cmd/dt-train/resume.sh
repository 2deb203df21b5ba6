#!/usr/bin/env bash
# A run that is stopped or killed and started again ends as one that was never disturbed.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

common=(--quiet --steps 1500 --save-every 20 --keep-last 3 --grad-lanes 4 --log-every 50)
train whole "${common[@]}" >/dev/null || fail "undisturbed run"

# Ten SIGKILLs at random moments.
hits=0
for ((kill = 0; kill < 10; ++kill)); do
  start_training killed "${common[@]}"
  sleep "0.$((RANDOM % 30 + 15))"
  if kill -KILL "$trainer" 2>/dev/null; then hits=$((hits + 1)); fi
  wait "$trainer" 2>/dev/null || true
done
((hits >= 3)) || fail "only $hits of 10 kills met a live run"
expect_exit 0 train killed "${common[@]}"
expect_same_model whole killed
expect_equal "$(losses killed)" "$(losses whole)" "losses"
digest() { sed -nE 's/.*"kind":"train","step":1500,.*"data_digest":"([^"]*)".*/\1/p' "$1/metrics.jsonl" | tail -n 1; }
expect_equal "$(digest killed)" "$(digest whole)" "data digests"

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
expect_match stderr 'resuming from .*step-00000040.g2'
expect_exit 0 train branch --steps 41 --schedule cosine --resume lanes/checkpoints/step-00000020.g1
expect_match branch/metrics.jsonl '"kind":"resume".*"checkpoint":"/.*lanes/checkpoints/step-00000020.g1"'
expect_match stderr 'learning-rate schedule changed: --schedule \(kind "constant" → "cosine"\)'
if grep 'checkpoints of its own' stderr; then fail "a new run has none"; fi
expect_exit 0 train branch --steps 42 --resume lanes/checkpoints/step-00000020.g1
expect_match stderr 'branch has its own checkpoints, the newest step-00000041.g1: --resume auto would resume from that'
# A run that began with another run's checkpoint and was killed before its first save begins there again.
start_training outside --steps 100000 --resume lanes/checkpoints/step-00000020.g1
wait_for_step outside 30
kill -KILL "$trainer"
wait "$trainer" 2>/dev/null || true
expect_exit 0 train outside --steps 41
expect_match stderr 'resuming from .*lanes/checkpoints/step-00000020.g1 \(step 20 of 41\)'
# Another build of the same version is another program, whatever in it has changed.
mkdir other
cp "$(command -v dt-train)" other/ && printf x >>other/dt-train
PATH=$PWD/other:$PATH expect_exit 0 train branch --steps 43
expect_match stderr 'results will not be bit-identical to the earlier run: program "[0-9a-f]{16}" → "[0-9a-f]{16}"$'
expect_exit 0 train branch --steps 44 --resume branch/checkpoints/step-00000042.g2
if grep 'bit-identical' stderr; then fail "the same program, another condition"; fi
# Nothing left to do claims no generation.
expect_exit 0 train outside --steps 41
expect_match stderr 'nothing is left to do'
expect_equal "$(find outside/generations -name "*.json" | wc -l)" 2 "generations"
expect_exit 0 train whole --steps 2 --resume never
expect_match whole/metrics.jsonl '"kind":"start".*"generation":2'

# A Slurm job that is started again repeats its command. What an earlier life has saved counts more than --resume never or a
# checkpoint; another job that says so means it.
life() { SLURM_JOB_ID=7 SLURM_RESTART_COUNT=${1#0} expect_exit 0 train lives "${@:2}"; }
life 0 --steps 3 --resume never
life 1 --steps 5 --resume never
expect_match stderr ' --resume never is treated as auto: this Slurm job was requeued and has saved checkpoints$'
expect_match stderr 'resuming from .*step-00000003.g1 '
life 2 --steps 6 --resume lives/checkpoints/step-00000003.g1
expect_match stderr 'resuming from .*step-00000005.g2 '
SLURM_JOB_ID=8 SLURM_RESTART_COUNT=3 expect_exit 0 train lives --steps 6 --resume lives/checkpoints/step-00000003.g1
expect_match stderr 'resuming from .*step-00000003.g1 '
