#!/usr/bin/env bash
# A checkpoint that may not be read, or not at the moment, is neither damaged nor bad input: exit 4, and the others are looked at.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
bound true || skip "permissions cannot be tested here"
a=$(make_checkpoint run 10) || fail "make_checkpoint"
b=$(make_checkpoint run 20 writers=2) || fail "make_checkpoint"

# verify reports every file. Damage goes before what cannot be read; a folder that is not there is bad input as ever.
chmod 0 "$b/rank-00000.h5"
expect_exit 4 bound dt-checkpoint verify "$b" "$a"
expect_match stdout "^$b: rank-00000.h5: cannot open .*: Permission denied; check the permissions"
expect_match stdout "^$a: ok$"
expect_match stderr "1 of 2 checkpoints could not be read completely"
expect_exit 4 bound dt-checkpoint verify --json "$b"
expect_match stdout '"ok":false,"problems":\[\{"where":"rank-00000.h5","what":"cannot open .*","unreadable":true\}\]'
cp -r "$b/rank-00001.h5" kept
scratch_weights "$b" rank-00001.h5
expect_exit 5 bound dt-checkpoint verify "$a" "$b"
expect_match stdout "^$b: rank-00000.h5: .*Permission denied"
expect_match stdout "^$b: rank-00001.h5: weights of "
cp kept "$b/rank-00001.h5"
expect_exit 4 bound dt-merge --quiet "$b" --out merged
expect_match stderr 'rank-00000.h5: Permission denied'
mkdir copy && cp -r "$b" copy && chmod 644 copy/*/*
expect_exit 4 bound dt-checkpoint repair "$b" --from copy/step-00000020.g1
expect_match stderr 'rank-00000.h5: Permission denied'
chmod 644 "$b/rank-00000.h5"
chmod 0 "$b/manifest.json"
for command in "verify $b" "show $b" "diff $a $b" "latest run" "list run" "prune run --keep-last 1" "reshard $b out --layout tp=1"; do
  # shellcheck disable=SC2086 # words
  expect_exit 4 bound dt-checkpoint $command
  expect_match <(cat stdout stderr) 'manifest.json: Permission denied'
done
expect_exit 4 bound dt-checkpoint list run
expect_match stdout "^ *10 +1 .* yes +yes"
chmod 644 "$b/manifest.json"
for folder in "$b" run/checkpoints run; do
  chmod 0 "$folder"
  for command in "verify $b" "list run" "latest run"; do
    # shellcheck disable=SC2086 # words
    expect_exit 4 bound dt-checkpoint $command
    expect_match <(cat stdout stderr) 'Permission denied'
  done
  chmod 755 "$folder"
done
expect_exit 3 dt-checkpoint verify nowhere
expect_exit 3 dt-checkpoint list nowhere

# A device that fails to read one file has damaged it, in verify as in a resume; limits have not.
expect_exit 5 failing_reads 5 "$b/rank-00000.h5" dt-checkpoint verify "$b"
expect_match stdout "^$b: rank-00000.h5: .*Input/output error"
expect_exit 5 failing_reads 5 "$b/manifest.json" dt-checkpoint verify "$b"
expect_exit 0 failing_reads 5 "$b/manifest.json" dt-checkpoint latest run
expect_equal "$(cat stdout)" "$a"
expect_exit 4 failing_reads 5 "$b/.*" dt-checkpoint verify "$b"
kinds=open expect_exit 4 failing_reads 24 "$b/rank-00001.h5" dt-checkpoint verify "$b"
expect_match stdout 'Too many open files.*ulimit -n'
last=1 expect_exit 0 failing_reads 116 "$b/rank-00000.h5" dt-checkpoint verify "$b"
expect_exit 4 failing_reads 116 "$b/rank-00000.h5" dt-checkpoint verify "$b"

# Datasets likewise.
seq 1 3000 | dt-shard-data --quiet --out shards >/dev/null
shard=shards/train-00000.h5
chmod 0 "$shard"
expect_exit 4 bound dt-shard-data --verify shards
expect_match stdout 'train-00000.h5: Permission denied'
expect_exit 4 bound dt-train --data shards --model llama-tiny --steps 1 --run trained
expect_match stderr 'train-00000.h5: Permission denied'
truncate -s -1 shards/validation-00000.h5
expect_exit 5 bound dt-shard-data --verify shards
expect_match stdout 'train-00000.h5: Permission denied'
chmod 644 "$shard"
kinds=open expect_exit 4 failing_reads 24 "$shard" dt-shard-data --show shards
expect_match stderr 'ulimit -n'
echo secret >locked && chmod 0 locked
expect_exit 4 bound dt-shard-data --out made locked
expect_match stderr 'locked: Permission denied'
expect_exit 3 dt-shard-data --out made missing
