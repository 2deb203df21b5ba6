#!/usr/bin/env bash
# --stage-dir: data is copied once to a node's own storage and read there; what cannot be is read where it is, and no bit depends on it.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards
cp -r shards other
common=(--steps 8 --grad-lanes 2)
own=dt-staged-$(id -u)
copies() { find "$1/$own" -mindepth 1 -maxdepth 1 -type d -name 'dt-dataset-*' | wc -l; }
leftovers() { find "$1/$own" -mindepth 1 -maxdepth 1 -name '.*' | wc -l; }

train plain "${common[@]}" --quiet >/dev/null || fail "plain"
expect_exit 0 train staged "${common[@]}" --stage-dir local
expect_match stderr "reading data from the local copy local/$own/dt-dataset-[0-9a-f]{16}\$"
expect_equal "$(stat -c %a "local/$own")" 700 "the mode of the folder of copies"
expect_same_model plain staged
expect_equal "$(digest_of staged)" "$(digest_of plain)"

# It is the copy that is read, until it is not what the original says; the next run copies again. A run goes on with a copy or without.
copy=$(echo "local/$own"/dt-dataset-*)
mv shards/train-00000.h5 kept
truncate -r kept shards/train-00000.h5
touch -r kept shards/train-00000.h5
expect_exit 0 train copied "${common[@]}" --stage-dir local
expect_same_model plain copied
mv kept shards/train-00000.h5
printf 'x' | dd of="$copy/train-00000.h5" bs=1 seek=6000 conv=notrunc status=none
expect_exit 0 train_as mpi=2 damaged "${common[@]}" --stage-dir local
expect_match stderr "shards is read in place from now on, and the next run copies it again: $copy/train-00000.h5 is corrupt"
expect_equal "$(grep -c 'in place from now on' stderr)" 1 "warnings"
expect_same_model plain damaged
expect_exit 0 train staged --steps 9 --stage-dir local
if grep warning stderr; then fail "the damaged copy was not made anew"; fi
expect_exit 0 train staged --steps 10

# Several ranks: one copies; two jobs at once: one copies.
expect_exit 0 train_as mpi=2 ranks "${common[@]}" --stage-dir for_ranks
expect_same_model plain ranks
expect_equal "$(copies for_ranks)" 1
train one "${common[@]}" --quiet --stage-dir both >/dev/null 2>one.log &
first=$!
train two "${common[@]}" --quiet --stage-dir both >/dev/null 2>two.log || fail "two"
wait "$first" || fail "one"
expect_same_model one two
expect_equal "$(copies both) $(leftovers both)" "1 0"
if grep . one.log two.log; then fail "warnings"; fi

# A mixture, each dataset of which has its own copy; names stay those that were asked for.
expect_exit 0 train mixed "${common[@]}" --data "shards=1,other=1" --stage-dir local
expect_match mixed/metrics.jsonl '"samples":\{"shards":32,"other":32\}'
expect_equal "$(copies local)" 2
# With room for one alone, the other is read where it is.
size=$(du -sb --apparent-size "$(find "local/$own" -mindepth 1 -maxdepth 1 -type d | head -n 1)" | cut -f 1)
expect_exit 0 train limited "${common[@]}" --data "shards=1,other=1" --stage-dir narrow --stage-limit "$size"
expect_match stderr 'on .*, other is read in place, not from a local copy: narrow has no space for'
expect_same_model mixed limited
expect_equal "$(copies narrow)" 1

# Of ranks that read where the data is, one says so.
expect_exit 0 train_as mpi=2 told "${common[@]}" --stage-dir none --stage-limit 10
expect_equal "$(grep -c 'is read in place' stderr)" 1 "warnings"

# What a killed copy left goes with the next.
install -d -m 700 left "left/$own"
mkdir "left/$own/.dt-dataset-0123456789abcdef.tmp-host-1"
expect_exit 0 train cleaned "${common[@]}" --stage-dir left
expect_equal "$(copies left) $(leftovers left)" "1 0"

# Evaluation reads copies, too.
expect_exit 0 dt-train --eval-only --quiet --data shards --sequence-length 32 --run plain --stage-dir evaluated
expect_equal "$(copies evaluated)" 1

# Storage that cannot be used is a warning; what makes no sense is an error.
touch file
expect_exit 0 train unusable "${common[@]}" --stage-dir file/stage
expect_match stderr 'shards is read in place, not from a local copy: cannot'
expect_same_model plain unusable
expect_exit 2 train bad --steps 1 --stage-limit 10
expect_match stderr 'needs --stage-dir'
expect_exit 2 train bad --steps 1 --stage-dir ''
expect_match stderr 'stage-dir is empty'
expect_exit 3 train bad --steps 1 --data nowhere --stage-dir local
expect_match stderr 'nowhere/dataset.json'

# Ranks wait for a copy longer than for each other: here while another process makes it.
install -d -m 700 slow "slow/$own"
flock "slow/$own/dt-stage.lock" sleep 4 &
expect_exit 0 train waited "${common[@]}" --comm threads=2 --comm-timeout 1s --stage-dir slow
expect_equal "$(copies slow)" 1
wait

# A full disk is a warning: one that is seen to be too small, and one that turns out so, page by page, while it is written to.
[[ $(id -u) = 0 ]] || skip "needs root to mount a small file system"
pages=$((($(find shards -type f -printf '%s + ')0 + 4095) / 4096))
small=$PWD/small
at_exit() { umount -l "$small"/*; }
for size in 8 "$pages"; do
  mkdir -p "small/$size"
  mount -t tmpfs -o size=$((size * 4096)) tmpfs "small/$size" 2>/dev/null || skip "this machine does not let root mount a tmpfs"
  expect_exit 0 train "full_$size" "${common[@]}" --stage-dir "small/$size"
  expect_same_model plain "full_$size"
  expect_equal "$(copies "small/$size") $(leftovers "small/$size")" "0 0"
  sed -n 's/.*shards is read in place, not from a local copy: //p' stderr >>reasons
done
expect_equal "$(wc -l <reasons)" 2 "warnings"
expect_match reasons 'small/8 has no space'
expect_match reasons 'No space left'
