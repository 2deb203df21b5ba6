# Sourced by cases that kill ranks at random moments.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lost_ranks.sh"

# kill_ranks COUNT STEPS [dt-train's options]: a run of two ranks loses one, of COUNT launches each; it must end within 10 s each
# time, leave no process, and the run must end with the bits of an undisturbed one.
kill_ranks() {
  local count=$1 kills=0 hits=0 pids victim started
  local common=(--quiet --steps "$2" --save-every 20 --keep-last 3 --grad-lanes 2 --log-every 50 "${@:3}")
  [[ -d shards ]] || make_shards shards
  train whole "${common[@]}" --comm threads=2 >/dev/null || fail "undisturbed run"
  while ((kills < count)); do
    start_ranks 2 killed "${common[@]}"
    sleep "$((RANDOM % 2)).$((RANDOM % 900 + 100))"
    mapfile -t pids < <(ranks_of "$launcher")
    kills=$((kills + 1))
    started=$SECONDS
    if ((${#pids[@]} > 0)); then
      victim=${pids[RANDOM % ${#pids[@]}]}
      if kill -KILL "$victim" 2>/dev/null; then hits=$((hits + 1)); fi
    else
      kill -KILL "$launcher" 2>/dev/null || true # before it had any
    fi
    while kill -0 "$launcher" 2>/dev/null; do
      ((SECONDS - started <= ${hang_s:?})) || fail "kill $kills: the job hangs"
      sleep 0.05
    done
    wait "$launcher" 2>/dev/null || true
    for victim in "${pids[@]}"; do
      while kill -0 "$victim" 2>/dev/null; do
        ((SECONDS - started <= ${hang_s:?})) || fail "kill $kills: process $victim is left"
        sleep 0.05
      done
    done
  done
  ((hits * 3 >= count)) || fail "only $hits of $count kills met a live rank"
  expect_exit 0 train_as mpi=2 killed "${common[@]}"
  expect_same_model whole killed
  expect_equal "$(digest_of killed)" "$(digest_of whole)" "data digests"
  echo "$count launches, $hits kills of live ranks, $(find killed/generations -type f | wc -l) generations"
}
