# Sourced by cases that stop and restart a run at random, each time with other ranks.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/training.sh"

# "ranks zero-stage". Those of exact_layouts make the same bits as one rank; the others the same up to rounding.
exact_layouts=("1 0" "1 1" "2 0" "2 1" "4 0" "4 1")
any_layouts=("${exact_layouts[@]}" "1 2" "1 3" "2 2" "2 3" "3 0" "3 1" "3 2" "3 3" "4 2" "4 3")

# digests RUN: "step data_digest" of every logged step that counts.
digests() { counted "$1" | sed -nE 's/.*"kind":"train","step":([0-9]+),.*"data_digest":"([^"]*)".*/\1 \2/p' | sort -n; }

# ranks_at_random LAYOUT...: into $ranks, the options of one of them.
ranks_at_random() {
  local layout=("$@") chosen
  read -ra chosen <<<"${layout[RANDOM % $#]}"
  ranks=(--comm "threads=${chosen[0]}" --zero "${chosen[1]}")
}

# restart_at_random RUN COUNT OPTIONS LAYOUT...: a run is started COUNT times with layouts at random, stopped each time (SIGKILL or
# SIGTERM, once it trains again), and at last let finish. OPTIONS is the name of an array.
restart_at_random() {
  local run=$1 count=$2 restart code before
  local -n options=$3
  shift 3
  for ((restart = 0; restart < count; ++restart)); do
    ranks_at_random "$@"
    before=$(num_lines "$run")
    start_training "$run" "${options[@]}" "${ranks[@]}" --save-every 7
    wait_for_lines "$run" "$((before + 1 + RANDOM % 12))"
    sleep "0.0$((RANDOM % 90 + 10))"
    code=0
    if ((RANDOM % 2)); then
      kill -KILL "$trainer" 2>/dev/null || fail "the run ended by itself before restart $restart"
      wait "$trainer" 2>/dev/null || true
    else
      kill -TERM "$trainer" 2>/dev/null || fail "the run ended by itself before restart $restart"
      wait "$trainer" || code=$?
      expect_equal "$code" 75 "exit after SIGTERM, restart $restart with ${ranks[*]}"
    fi
  done
  ranks_at_random "$@"
  expect_exit 0 train "$run" "${options[@]}" "${ranks[@]}"
}

# num_lines RUN: of its account.
num_lines() { if [[ -e $1/metrics.jsonl ]]; then wc -l <"$1/metrics.jsonl"; else echo 0; fi; }

# wait_for_lines RUN N: until its account has so many.
wait_for_lines() {
  local tries
  for ((tries = 0; tries < 1200; ++tries)); do
    if (($(num_lines "$1") >= $2)); then return; fi
    kill -0 "$trainer" 2>/dev/null || return 0
    sleep 0.02
  done
  fail "$1 does not get on"
}

# expect_same_data RUN RUN: every sample exactly once an epoch, and at the same step, as digests tell.
expect_same_data() {
  expect_equal "$(digests "$1")" "$(digests "$2")" "data digests of $1 and $2"
}

# restarts COUNT STEPS: of either kind of layouts.
restarts() {
  local common=(--quiet --steps "$2" --keep-last 3 --grad-lanes 4 --log-every 5 --lr 1e-4)
  make_shards shards
  train whole "${common[@]}" >/dev/null || fail "undisturbed run"
  restart_at_random exact "$1" common "${exact_layouts[@]}"
  expect_same_data exact whole
  expect_equal "$(losses exact)" "$(losses whole)" "losses"
  expect_exit 0 dt-checkpoint diff "$(dt-checkpoint latest exact)" "$(dt-checkpoint latest whole)"
  restart_at_random any "$1" common "${any_layouts[@]}"
  expect_same_data any whole
  # That the comparison can fail: another order of the data.
  train other "${common[@]}" --seed 1 >/dev/null || fail "another seed"
  [[ $(digests other | tail -n 1) != $(digests whole | tail -n 1) ]] || fail "another order of the data has the same digest"
  echo "$1 restarts of either kind: $(grep -c '"kind":"resume"' exact/metrics.jsonl) and" \
    "$(grep -c '"kind":"resume"' any/metrics.jsonl) resumes"
}
