#!/usr/bin/env bash
# list shows every checkpoint, latest the one that a resume takes: the newest complete one of the lineage.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make() { make_checkpoint "$@" >/dev/null || fail "make_checkpoint $*"; }
latest() { dt-checkpoint latest run 2>stderr; }
at() { echo "run/checkpoints/step-000000$1"; }

mkdir -p empty/checkpoints
expect_exit 0 dt-checkpoint list empty
expect_exit 3 dt-checkpoint latest empty; expect_match stderr "empty has no complete checkpoint"

make run 10
make run 20 parts=3
make run 30
expect_equal "$(latest)" "$(at 30.g1)"
make run 25 continues=step-00000020.g1
make run 90 generation=1
expect_equal "$(latest)" "$(at 25.g2)" "a zombie's late checkpoint is not selected"

expect_exit 0 dt-checkpoint list run
expect_equal "$(wc -l <stdout)" 6 "a heading and five checkpoints"
expect_match stdout "^ *20 +1 .*pp=1,dp=3,tp=1,zero=0 .* yes +yes +run/checkpoints/step-00000020.g1$"
expect_match stdout "^ *30 +1 .* yes +no +run/checkpoints/step-00000030.g1$"
expect_match stdout "^ *90 +1 .* yes +no "
expect_exit 0 dt-checkpoint list run --json
expect_equal "$(grep -c '^{.*}$' stdout)" 5
expect_match stdout '"step":25,"generation":2,"bytes":[0-9]+,"layout":"pp=1,dp=1,tp=1,zero=0","created":"20.*Z","age_s":[0-9.]+,"complete":true,"lineage":true}'
expect_exit 0 dt-checkpoint latest run --json
expect_match stdout '^\{"path":"run/checkpoints/step-00000025.g2","step":25,"generation":2\}$'

# Incomplete checkpoints are listed as such and skipped. Temporary folders are not listed.
truncate -s 1000 "$(at 25.g2)/rank-00000.h5"
mkdir "$(at 40.g2)" run/checkpoints/.step-00000050.g2.tmp-host-1
expect_exit 0 dt-checkpoint list run
expect_match stdout "^ *25 .* no +yes "
expect_match stdout "^ *40 .* no +yes "
expect_match stderr "has 1000 bytes"
! grep -q " 50 " stdout || fail "a temporary folder is listed"
expect_equal "$(latest)" "$(at 20.g1)"
expect_match stderr "warning: skipping .*step-00000040.g2: .*manifest.json"
expect_match stderr "warning: skipping .*step-00000025.g2: .*1000 bytes"
echo '{"format": "dt-che' >"$(at 20.g1)/manifest.json"
expect_equal "$(latest)" "$(at 10.g1)"
expect_exit 0 dt-checkpoint list run
! grep -q "dt-checkpoint list" stderr || fail "list advises list"
rm "$(at 10.g1)/rank-00000.h5"
expect_exit 3 dt-checkpoint latest run
expect_match stderr "run 'dt-checkpoint list run' to see"
expect_equal "$(cat stdout)" ""

# Of several files one is missing.
make several 10 writers=3
make several 20 writers=3
expect_exit 0 dt-checkpoint list several
expect_match stdout "^ *20 +1 .*pp=1,dp=3,tp=1,zero=0 .* yes +yes "
rm several/checkpoints/step-00000020.g1/rank-00001.h5
expect_exit 0 dt-checkpoint list several; expect_match stdout "^ *20 .* no +yes "
expect_equal "$(dt-checkpoint latest several 2>stderr)" several/checkpoints/step-00000010.g1
expect_match stderr "skipping .*step-00000020.g1: .*rank-00001.h5 is missing"

# A run directory by a path that ends in a slash, from elsewhere.
make other 5
expect_equal "$(cd / && dt-checkpoint latest "$case_dir/other/")" "$case_dir/other/checkpoints/step-00000005.g1"
echo '{}' >other/generations/0001.json
expect_exit 3 dt-checkpoint latest other; expect_match stderr "generations/0001.json"
