#!/usr/bin/env bash
# repair takes from another copy what is damaged; what neither has is named, exit 5.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
a=$(make_checkpoint run 10 writers=3) || fail "make_checkpoint"
other=$(make_checkpoint run 20 writers=3) || fail "make_checkpoint"
mkdir backup && cp -r "$a" backup/
replica=backup/$(basename "$a")
scratch() { printf 'xxxx' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

expect_exit 0 dt-checkpoint repair "$a" --from "$replica"
expect_equal "$(cat stdout)" "$a: ok"
scratch_weights "$a" rank-00001.h5; truncate -s 3000 "$a/rank-00000.h5"; rm "$a/rank-00002.h5"; echo '{}' >"$a/manifest.json"
expect_exit 5 dt-checkpoint verify "$a"
echo '{}' >"$a.failed-loads.jsonl" # a start has found it damaged
expect_exit 0 dt-checkpoint repair "$a" --from "$replica"
expect_absent "$a.failed-loads.jsonl"
expect_match stdout "^$a: rank-00001.h5: .* repaired: bytes .* expected"
expect_match stdout "^$a: rank-00000.h5: repaired: has 3000 bytes"
expect_match stdout "^$a: rank-00002.h5: repaired: .*No such file"
expect_match stdout "^$a: manifest.json: repaired: "
expect_equal "$(tail -n 1 stdout)" "$a: ok"
diff -r "$a" "$replica" || fail "the copies differ"

scratch "$a/rank-00000.h5" 100; scratch "$replica/rank-00000.h5" 100; scratch_weights "$a" rank-00001.h5
expect_exit 5 dt-checkpoint repair "$a" --from "$replica" --json
expect_match stdout "^\{\"path\":\"$a\",\"ok\":false,\"repaired\":\[\{\"where\":\"rank-00001.h5: [^]]*\],\"problems\":\[\{\"where\":\"rank-00000.h5\",\"what\":\"the bytes outside the tensors"
expect_match stderr "still has 1 damaged part; "

expect_exit 3 dt-checkpoint repair "$a" --from "$other"; expect_match stderr "not a copy of the same checkpoint: it is step 20.*, and the checkpoint is step 10"
expect_exit 3 dt-checkpoint repair "$a" --from nowhere; expect_match stderr "nowhere is not a folder"
expect_exit 3 dt-checkpoint repair nowhere --from "$a"; expect_match stderr "nowhere is not a folder"
expect_exit 2 dt-checkpoint repair "$a"; expect_match stderr "from is missing"
expect_exit 2 dt-checkpoint repair "$a" "$replica"; expect_match stderr "repair CKPT"
expect_exit 2 dt-checkpoint verify "$a" --from "$replica"; expect_match stderr "option of 'repair', not of 'verify'"
rm "$a/manifest.json"; echo torn >"$replica/manifest.json"
expect_exit 5 dt-checkpoint repair "$a" --from "$replica"; expect_match stderr "both manifests are damaged"
