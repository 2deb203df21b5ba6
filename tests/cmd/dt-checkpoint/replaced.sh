#!/usr/bin/env bash
# A checkpoint that is being overwritten is never lost, not even where names cannot be exchanged and whoever does it dies in between.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

# dies_at N COMMAND...: before the Nth renaming of a folder, on a file system of that kind.
dies_at() {
  local n=$1 code=0
  shift
  : >state
  LD_PRELOAD=$DT_BUILD/lib/libfaults.so FAULTS_ROOT=$(realpath run/checkpoints) FAULTS_STATE=$PWD/state FAULTS_KINDS=rename \
    FAULTS_OLD_RENAMES=1 FAULTS_ACTION=die-before FAULTS_FIRST=$n FAULTS_LAST=$n "$@" >/dev/null 2>&1 || code=$?
  expect_equal "$code" 137 "exit at renaming $n of $*"
}

expect_exit 0 train run --steps 2
checkpoint=$(dt-checkpoint latest run)
cp -r "$checkpoint" copy
overwrite=(dt-checkpoint reshard --quiet "$checkpoint" "$checkpoint" --layout dp=2 --overwrite)

# Before the first the old one is there; before the second neither, until the command comes again.
dies_at 1 "${overwrite[@]}"
expect_exit 0 dt-checkpoint diff "$checkpoint" copy
dies_at 2 "${overwrite[@]}"
expect_absent "$checkpoint"
expect_exit 0 "${overwrite[@]}"
expect_exit 0 dt-checkpoint diff "$checkpoint" copy
expect_exit 0 dt-checkpoint show "$checkpoint"; expect_match stdout "dp=2"
expect_equal "$(find run/checkpoints -name '.*.replaced')" ""

# Or until the run goes on, which then clears away what is left.
dies_at 2 "${overwrite[@]}"
expect_absent "$checkpoint"
expect_exit 0 train run --steps 3
expect_match stderr "resuming from $checkpoint"
expect_exit 0 dt-checkpoint diff "$checkpoint" copy
expect_equal "$(find run/checkpoints -name '.*')" "" "hidden folders"

# An error there is no death: the old one has its name again.
: >state
expect_exit 4 env LD_PRELOAD="$DT_BUILD/lib/libfaults.so" FAULTS_ROOT="$(realpath run/checkpoints)" FAULTS_STATE="$PWD/state" \
  FAULTS_KINDS=rename FAULTS_OLD_RENAMES=1 FAULTS_ACTION=fail=5 FAULTS_FIRST=2 FAULTS_LAST=2 "${overwrite[@]}"
expect_match stderr "Input/output error"
expect_exit 0 dt-checkpoint diff "$checkpoint" copy
expect_equal "$(find run/checkpoints -name '.*')" "" "hidden folders"
