# Sourced by cases in which jobs start on one run directory at the same time.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/training.sh"

racers=()
at_exit() { ((${#racers[@]} == 0)) || { kill -KILL "${racers[@]}" && wait; } 2>/dev/null || true; }

# claims RUN: numbers of the generations that were not withdrawn.
claims() { find "$1/generations" -name '????.json' -size +0 | sort | sed -E 's|.*/0*([0-9]+)\.json|\1|'; }

# names_rival RACER RUN LAST: the refusal names the holder of the run: another racer, as a generation newer than LAST. It need not be the
# winner: the racer that refused this one may have given way itself.
names_rival() {
  local said=racer.$1 rivals=("${racers[@]}") generation
  unset "rivals[$1]"
  expect_match "$said" "another dt-train (is running|started) in $2.*: generation [0-9]+, process ($(tr ' ' '|' <<<"${rivals[*]}")) on $(hostname)"
  generation=$(sed -nE 's/.*: generation ([0-9]+), process.*/\1/p' "$said")
  ((generation > $3)) || fail "racer $1 was refused by generation $generation, which is not of this race"
}

# start_racers RUN COUNT [options]: all at once, as processes ${racers[@]}; what racer i says is in racer.i.
start_racers() {
  local run=$1 count=$2 i
  shift 2
  arguments "$run" "$@"
  racers=()
  rm -f racer.* go
  for ((i = 0; i < count; ++i)); do
    {
      until [[ -e go ]]; do sleep 0.01; done
      exec dt-train "${train_args[@]}" >/dev/null 2>"racer.$i"
    } &
    racers+=($!)
  done
  sleep 0.02
  touch go
}

# one_survives: until all racers but one have ended with exit 4; that one's number is in $winner.
one_survives() {
  local deadline=$((SECONDS + ${hang_s:?})) i alive code
  while :; do
    alive=()
    for i in "${!racers[@]}"; do
      if kill -0 "${racers[i]}" 2>/dev/null; then alive+=("$i"); fi
    done
    ((${#alive[@]} > 1)) || break
    ((SECONDS < deadline)) || fail "racers ${alive[*]} run on one run directory: $(head racer.*)"
    sleep 0.05
  done
  winner=
  for i in "${!racers[@]}"; do
    if [[ $i = "${alive[*]}" ]]; then
      winner=$i
      continue
    fi
    code=0
    wait "${racers[i]}" || code=$?
    expect_equal "$code" 4 "exit of racer $i: $(cat "racer.$i")"
  done
  [[ -n $winner ]] || fail "all racers yielded: $(head racer.*)"
}

# races COUNT: of two or three jobs each on one run. The one that is left trains on for a moment and is stopped or killed.
races() {
  local count=$1 race claimed last=0 losers=0 checkpoint steps
  local common=(--quiet --keep-last 8 --log-every 10 --lr 1e-4 --schedule constant --warmup-steps 0)
  make_shards shards
  for ((race = 0; race < count; ++race)); do
    start_racers raced "$((2 + RANDOM % 2))" "${common[@]}" --save-every 20 --steps 100000000
    one_survives
    for i in "${!racers[@]}"; do
      [[ $i != "$winner" ]] || continue
      names_rival "$i" raced "$last"
      losers=$((losers + 1))
    done
    claimed=$(claims raced | awk -v last="$last" '$1 > last' | wc -l)
    expect_equal "$claimed" 1 "claims in force after race $race"
    last=$(claims raced | tail -n 1)
    wait_for_generation raced "$last"
    kill "-$( ((RANDOM % 2)) && echo KILL || echo TERM)" "${racers[winner]}" 2>/dev/null || fail "the winner is gone: $(cat racer."$winner")"
    wait "${racers[winner]}" 2>/dev/null || true
    racers=()
    for checkpoint in raced/checkpoints/step-*; do
      [[ ${checkpoint##*.g} -le $last ]] || fail "$checkpoint is of no generation in force"
    done
  done
  dt-checkpoint verify --quiet raced/checkpoints/step-* >/dev/null || fail "a checkpoint does not verify"
  expect_absent raced/checkpoints/*.failed-loads.jsonl
  expect_one_line raced
  steps=$(($(dt-checkpoint latest raced | sed -E 's/.*step-0*([0-9]+)\..*/\1/') + 20))
  expect_exit 0 train raced "${common[@]}" --steps "$steps"
  train whole "${common[@]}" --steps "$steps" >/dev/null || fail "undisturbed run"
  expect_same_model whole raced
  expect_equal "$(digest_of raced)" "$(digest_of whole)" "data digests"
  echo "$count races, $losers refused, $(find raced/generations -name '????.json' -size 0 | wc -l) withdrawn claims," \
    "$(claims raced | wc -l) generations"
}

# wait_for_generation RUN N: until it has saved a checkpoint to resume from.
wait_for_generation() {
  local tries
  for ((tries = 0; tries < 1000; ++tries)); do
    if compgen -G "$1/checkpoints/step-*.g$2" >/dev/null; then return; fi
    sleep 0.01
  done
  fail "generation $2 of $1 saves nothing"
}

# expect_one_line RUN: each generation in force went on from a checkpoint of the one in force before it, or both from the same.
expect_one_line() {
  local number continues before=0
  for number in $(claims "$1"); do
    continues=$(sed -nE 's/.*"continues": ?"([^"]*)".*/\1/p' "$(printf '%s/generations/%04d.json' "$1" "$number")")
    if ((before > 0)); then
      expect_match <(echo "$continues") "^step-[0-9]{8}\.g[0-9]+$"
      ((${continues##*.g} <= before)) || fail "generation $number of $1 went on from $continues"
    fi
    before=$number
  done
}
