#!/usr/bin/env bash
# A checkpoint of many files has an index of pieces. Every command takes it as it takes one whose manifest lists them.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
listed=$(make_checkpoint listed 10 writers=3) || fail "make_checkpoint"
indexed=$(make_checkpoint indexed 10 writers=3 listed_files=2) || fail "make_checkpoint"
expect_absent "$listed/pieces.index"
expect_match "$indexed/manifest.json" '^"version": 2,$'
expect_match "$indexed/manifest.json" '^"pieces": \{"file":"pieces.index","bytes":[0-9]+,"digest":"[0-9a-f]{16}"\},$'

expect_exit 0 dt-checkpoint verify "$indexed"; expect_equal "$(cat stdout)" "$indexed: ok"
for ckpt in "$listed" "$indexed"; do
  expect_exit 0 dt-checkpoint show "$ckpt"
  grep -vE '^(checkpoint|created) ' stdout >"show-$(cut -d/ -f1 <<<"$ckpt")"
  expect_exit 0 dt-checkpoint show "$ckpt" --json
  sed -E 's/"(path|created)":"[^"]*"//g' stdout >"json-$(cut -d/ -f1 <<<"$ckpt")"
  expect_exit 0 dt-merge "$ckpt" --format h5 --with-optimizer --out "$(cut -d/ -f1 <<<"$ckpt").h5"
done
diff show-listed show-indexed || fail "show differs"
diff json-listed json-indexed || fail "show --json differs"
cmp listed.h5 indexed.h5 || fail "merged models differ"
expect_exit 0 dt-checkpoint diff "$listed" "$indexed"
expect_exit 0 dt-checkpoint list indexed; expect_match stdout "^ +10 +1 .* yes +yes +$indexed$"
expect_exit 0 dt-checkpoint latest indexed; expect_equal "$(cat stdout)" "$indexed"
expect_exit 0 dt-checkpoint reshard "$indexed" wide --layout dp=2,zero=3
expect_exit 0 dt-checkpoint diff listed/checkpoints/* wide

# A checkpoint of more than 256 files has an index, which is a file of its own beside them and the manifest.
expect_exit 0 dt-checkpoint reshard "$listed" many --layout dp=300
expect_equal "$(find many -name 'rank-*.h5' | wc -l)" 300
expect_exit 0 dt-checkpoint verify many
expect_exit 0 dt-checkpoint diff many "$listed"
expect_exit 0 dt-checkpoint reshard many few --layout dp=256
expect_absent few/pieces.index
expect_exit 0 dt-checkpoint diff few "$indexed"

# A damaged index is named, and mended from a copy.
mkdir backup && cp -r "$indexed" backup/
replica=backup/$(basename "$indexed")
spoil() { printf 'xxxx' | dd of="$1/pieces.index" bs=1 seek=80 conv=notrunc status=none; }
spoil "$indexed"
expect_exit 5 dt-checkpoint verify "$indexed"
expect_match stdout "^$indexed: pieces.index: bytes 0 to [0-9]+ have the digest"
expect_match stdout "^$indexed: pieces.index: without the piece index, 3 of 3 files cannot be checked$"
expect_exit 3 dt-checkpoint show "$indexed"; expect_match stderr "pieces.index is damaged"
expect_exit 3 dt-merge "$indexed" --format h5 --out no.h5; expect_match stderr "pieces.index"
expect_exit 0 dt-checkpoint repair "$indexed" --from "$replica"
expect_match stdout "^$indexed: pieces.index: repaired: bytes 0 to"
rm "$indexed/pieces.index"
expect_exit 0 dt-checkpoint list indexed; expect_match stdout "^ +10 +1 .* no +yes +$indexed$"; expect_match stderr "pieces.index is missing"
expect_exit 0 dt-checkpoint repair "$indexed" --from "$replica"
diff -r "$indexed" "$replica" || fail "the copies differ"
spoil "$indexed"; spoil "$replica"
expect_exit 5 dt-checkpoint repair "$indexed" --from "$replica"
expect_match stderr "pieces.index: bytes 0 to [0-9]* are damaged in both copies"

# Prune removes the index with the rest, and keeps what verifies.
for step in 20 30 40; do make_checkpoint indexed "$step" writers=3 listed_files=2 >/dev/null || fail "make_checkpoint"; done
expect_exit 0 dt-checkpoint prune indexed --keep-last 2
expect_absent "$indexed"
expect_equal "$(ls indexed/checkpoints)" "$(printf 'step-%08d.g1\n' 30 40)"
