#!/usr/bin/env bash
# A start whose ranks crash before the run goes on is made again within the job, three times at most; one that was signalled, or
# crashed later, is not.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards
job_options 5

# Ends as $DT_TEST_END says for as many starts as $DT_TEST_STARTS; then it is dt-train.
mkdir stub
cat >stub/dt-train <<'END'
#!/usr/bin/env bash
echo "${SLURM_PMIX_FENCE:-}" >"$DT_RUN.fence"
mkdir -p "$DT_RUN.starts/$SLURM_STEP_ID"
if (($(find "$DT_RUN.starts" -mindepth 1 | wc -l) > DT_TEST_STARTS)); then exec "$DT_TEST_REAL" "$@"; fi
eval "$DT_TEST_END"
END
chmod +x stub/dt-train
DT_TEST_REAL=$(command -v dt-train)
export DT_TEST_REAL

# submit_stub RUN STARTS END: prints the job's id.
submit_stub() {
  export DT_TEST_STARTS=$2 DT_TEST_END=$3
  DT_BIN=$PWD/stub submit_training "$1" 2
}
num_starts() { find "$1.starts" -mindepth 1 | wc -l; }
# expect_end RUN ID STATE STARTS RESTARTS CODE
expect_end() {
  wait_for_job "$2" 60 "$3"
  expect_equal "$(num_starts "$1")" "$4" "starts of $1"
  expect_equal "$(grep -c '^restart: exit code 139, a rank crashed' "dt-train-$2.log")" "$5" "restarts told of $1"
  expect_equal "$(job_field "$2" ExitCode)" "$6:0" "exit code of $1"
}

# The other rank waits for the one that has crashed.
# shellcheck disable=SC2016
twice=$(submit_stub twice 2 '((SLURM_PROCID == 1)) || sleep 60; kill -SEGV $$')
expect_end twice "$twice" COMPLETED 3 2 0
expect_exit 0 dt-checkpoint list twice
expect_match stdout '^ *5 +1 '
# shellcheck disable=SC2016
always=$(submit_stub always 9 'kill -SEGV $$')
expect_end always "$always" FAILED 4 3 139
# shellcheck disable=SC2016
later=$(submit_stub later 9 'mkdir -p later/generations; echo {} >later/generations/0001.json; kill -SEGV $$')
expect_end later "$later" FAILED 1 0 139
for signal in KILL TERM; do
  job=$(submit_stub "by_$signal" 9 "kill -$signal \$\$")
  expect_end "by_$signal" "$job" FAILED 1 0 "$((128 + $(kill -l "$signal")))"
done
# shellcheck disable=SC2016
cancelled=$(submit_stub cancelled 9 'trap "" TERM; sleep 2; kill -SEGV $$')
wait_until 30 "the start" test -e cancelled.fence
on_login scancel "$cancelled"
wait_for_job "$cancelled" 60 CANCELLED
expect_equal "$(num_starts cancelled)" 1 "starts of a job that was cancelled"

# What the scripts set, unless their user has.
export DT_TEST_STARTS=1 DT_TEST_END="exit 3"
job=$(DT_RUN=unset DT_BIN=$PWD/stub on_login env -u SLURM_PMIX_FENCE sbatch --parsable "$jobs/train.sbatch")
wait_for_job "$job" 30 FAILED
expect_equal "$(cat unset.fence)" tree
export SLURM_PMIX_FENCE=ring
job=$(submit_stub chosen 1 "exit 3")
wait_for_job "$job" 30 FAILED
expect_equal "$(cat chosen.fence)" ring
