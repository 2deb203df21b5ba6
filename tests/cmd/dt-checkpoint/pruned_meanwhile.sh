#!/usr/bin/env bash
# A running job prunes a checkpoint between its choice and its opening. A tool that chose it takes the next newer one. If the user named it,
# the tool reports an error.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards
train run --steps 4 --save-every 2 >/dev/null 2>&1 || fail "dt-train"
old=run/checkpoints/step-00000002.g1 new=run/checkpoints/step-00000004.g1
mv "$new" saving

# pruned FILE COMMAND...: the job saves step 4 and removes step 2 when the command first opens that file of it.
pruned() {
  LD_PRELOAD=$DT_BUILD/lib/libremoves_on_open.so DT_REMOVE_AT=$old/$1 DT_APPEARS=saving:$new "${@:2}"
}
restore() {
  [[ -e $new && ! -e $old ]] || fail "nothing was removed"
  mv "$new" saving
  mv run/checkpoints/.step-00000002.g1.removed "$old"
  rm -rf out out.h5
}

expect_exit 0 pruned manifest.json dt-checkpoint latest run
expect_equal "$(cat stdout)" "$new"; restore
for file in manifest.json rank-00000.h5; do
  expect_exit 0 pruned $file dt-train --eval-only --run run --data shards
  expect_match stderr "evaluating .*step-00000004.g1"; restore
  for command in "verify $old" "diff $old saving"; do
    # shellcheck disable=SC2086 # words
    expect_exit 3 pruned $file dt-checkpoint $command
    expect_match stderr "$old was removed while it was being read"; restore
  done
  for out in out out.h5; do
    expect_exit 3 pruned $file dt-merge "$old" --out $out
    expect_match stderr "$old was removed while it was being read.*latest"
    expect_absent $out; restore
  done
  expect_exit 3 pruned $file dt-train --eval-only --resume "$old" --data shards
  expect_match stderr "$old was removed while it was being read"; restore
done
# The others are reported all the same, and damage counts more.
cp -r saving damaged && printf xxxx | dd of=damaged/rank-00000.h5 bs=1 seek=5000 conv=notrunc status=none
expect_exit 5 pruned rank-00000.h5 dt-checkpoint verify "$old" damaged
expect_match stderr "$old was removed while it was being read"; expect_match stdout "^damaged: rank-00000.h5"; restore
expect_exit 3 pruned manifest.json dt-checkpoint show "$old"
expect_match stderr "$old was removed while it was being read"; restore
expect_exit 0 dt-checkpoint verify "$old"
