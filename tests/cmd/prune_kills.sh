# Sourced by cases that kill dt-checkpoint prune at random moments.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

milliseconds() { echo "$((${EPOCHREALTIME//[.,]/} / 1000))"; }

# prune_kills COUNT: each on a fresh copy of a run of many checkpoints; more, until a fifth of COUNT have met the removing itself.
prune_kills() {
  local count=$1 step started whole_ms pruner wait_ms kill hits=0 finished=0 sound
  for ((step = 1; step <= 20; ++step)); do
    make_checkpoint run "$step" writers=2 >/dev/null || fail "make_checkpoint"
  done
  cp -r run undisturbed
  started=$(milliseconds)
  expect_exit 0 dt-checkpoint prune undisturbed --keep-last 1
  whole_ms=$(($(milliseconds) - started + 5))
  expect_equal "$(find undisturbed/checkpoints -mindepth 1 -maxdepth 1 | wc -l)" 2
  for ((kill = 1; kill <= count || hits * 5 < count; ++kill)); do
    ((kill <= 10 * count)) || fail "only $hits of $kill kills met the removing"
    rm -rf killed && cp -r run killed
    dt-checkpoint prune killed --keep-last 1 >/dev/null 2>&1 &
    pruner=$!
    wait_ms=$((RANDOM % whole_ms))
    sleep "$((wait_ms / 1000)).$(printf %03d $((wait_ms % 1000)))"
    kill -KILL "$pruner" 2>/dev/null || finished=$((finished + 1))
    wait "$pruner" 2>/dev/null || true
    dt-checkpoint verify --quiet killed/checkpoints/step-* >stdout || fail "kill $kill after $wait_ms ms: $(cat stdout)"
    sound=$(wc -l <stdout)
    ((sound >= 2)) || fail "kill $kill after $wait_ms ms: $sound checkpoints are left"
    expect_equal "$(dt-checkpoint latest killed)" killed/checkpoints/step-00000020.g1
    if ((sound > 2 && sound < 20)) || ls -d killed/checkpoints/.step-* >/dev/null 2>&1; then hits=$((hits + 1)); fi
    if ((kill % 10 == 0)); then
      expect_exit 0 dt-checkpoint prune killed --keep-last 1
      expect_equal "$(find killed/checkpoints -mindepth 1 -maxdepth 1 | wc -l)" 2 "left by the prune after a killed one"
    fi
  done
  echo "$((kill - 1)) kills, $hits while removing, $finished after the end; ${whole_ms} ms undisturbed"
}
