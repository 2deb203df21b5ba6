#!/usr/bin/env bash
# What verify finds, a resume does not load: it goes back to an older checkpoint, or refuses where one is named.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards
train run --steps 30 --save-every 10 >/dev/null || fail "training"
last=run/checkpoints/step-00000030.g1
before=run/checkpoints/step-00000020.g1
cp -r "$last" good

# refused WHAT: the newest checkpoint, with damage.
refused() {
  expect_exit 5 dt-checkpoint verify "$last"
  expect_match stdout "$last: "
  expect_exit 3 train elsewhere --steps 31 --resume "$last"
  expect_match stderr "$last|is not a checkpoint"
  expect_absent elsewhere
  cp -r run again
  expect_exit 0 train again --steps 31
  expect_match stderr "skipping .*step-00000030.g1" # and so it resumes from the one before
  expect_match stderr "resuming from .*step-00000020.g1"
  rm -rf again "$last"
  cp -r good "$last"
}
# HDF5's own bytes, which loading does not need.
printf 'x' | dd of="$last/rank-00000.h5" bs=1 seek=20 conv=notrunc status=none; refused
dd if=/dev/zero of="$last/rank-00000.h5" bs=4096 seek=9 count=1 conv=notrunc status=none; refused
truncate -s -4096 "$last/rank-00000.h5"; refused
: >"$last/rank-00000.h5"; refused
rm "$last/rank-00000.h5"; refused
cp "$before/rank-00000.h5" "$last/"; refused
cp "$before/manifest.json" "$last/"; refused
cp "$before"/* "$last/"; refused
head -c 5000 /dev/urandom >"$last/manifest.json"; refused
printf '[%.0s' {1..100000} >"$last/manifest.json"; refused
truncate -s 1T "$last/manifest.json"; refused
expect_exit 0 dt-checkpoint verify "$last"
