#!/usr/bin/env bash
# verify finds any damage and names it: exit 5, findings on stdout.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
a=$(make_checkpoint run 10) || fail "make_checkpoint"
b=$(make_checkpoint run 20 parts=2) || fail "make_checkpoint"

expect_exit 0 dt-checkpoint verify "$a" "$b"
expect_equal "$(cat stdout)" "$a: ok"$'\n'"$b: ok"
expect_exit 0 dt-checkpoint verify --json "$a"
expect_equal "$(cat stdout)" "{\"path\":\"$a\",\"ok\":true,\"problems\":[]}"

# flip FILE OFFSET: one bit.
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  # shellcheck disable=SC2059
  printf "\\$(printf '%03o' $((byte ^ 4)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
file=$b/rank-00000.h5
size=$(stat -c %s "$file")
for part in 0 1 2 3 4 5 6 7 8 9; do
  offset=$((size * part / 10))
  flip "$file" "$offset"
  expect_exit 5 dt-checkpoint verify "$a" "$b"
  expect_match stdout "^$a: ok$"
  expect_match stdout "^$b: rank-00000.h5"
  expect_match stderr "1 of 2 checkpoints is damaged"
  flip "$file" "$offset"
done
offset=$(dt-checkpoint show "$b" --json | sed -E 's/.*"kind":"adam_v".*"offset":([0-9]+),"bytes":[0-9]+\}\]\}\]\}$/\1/')
flip "$file" "$offset"
expect_exit 5 dt-checkpoint verify "$b"
expect_match stdout "^$b: rank-00000.h5: adam_v of final_norm.bias: bytes $offset to "
expect_exit 5 dt-checkpoint verify --json "$b"
expect_match stdout '"ok":false,"problems":\[\{"where":"rank-00000.h5: adam_v of final_norm.bias","what":"bytes'
flip "$file" "$offset"
expect_exit 0 dt-checkpoint verify "$b"

# Several files: each is checked, and each that is damaged is named.
several=$(make_checkpoint several 20 writers=3) || fail "make_checkpoint"
expect_exit 0 dt-checkpoint verify "$several"
for rank in 0 1 2; do
  flip "$several/rank-0000$rank.h5" 5000
  expect_exit 5 dt-checkpoint verify "$several"
  expect_equal "$(grep -c 'rank-0000' stdout)" 1
  expect_match stdout "^$several: rank-0000$rank.h5"
  flip "$several/rank-0000$rank.h5" 5000
done
rm "$several/rank-00001.h5"; flip "$several/rank-00002.h5" 5000
expect_exit 5 dt-checkpoint verify "$several"
expect_match stdout "rank-00001.h5.*No such file"
expect_match stdout "^$several: rank-00002.h5.*digest"

truncate -s -1 "$file"; expect_exit 5 dt-checkpoint verify "$b"; expect_match stdout "has $((size - 1)) bytes, expected $size"
rm "$file"; expect_exit 5 dt-checkpoint verify "$b"; expect_match stdout "rank-00000.h5.*No such file"
sed -i 's/"step":20/"step":21/' "$b/manifest.json"; expect_exit 5 dt-checkpoint verify "$b"
expect_match stdout "manifest.json does not match the digest"
rm "$b/manifest.json"; expect_exit 5 dt-checkpoint verify "$b"; expect_match stdout "contains no manifest.json"
