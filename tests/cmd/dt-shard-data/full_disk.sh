#!/usr/bin/env bash
# A disk that fills up ends the work with 4 and a remedy, and what was written is gone.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

mkdir disk
mount -t tmpfs -o size=80m tmpfs disk 2>/dev/null || skip "mounting a small file system needs root"
at_exit() { umount "$case_dir/disk"; }

for size in 18M 50M; do head -c "$size" /dev/zero | tr '\0' x >text_$size; done
# A byte is two bytes in the spool, and two in a shard, which is written while the spool is there: 50M does not fit the spool, and beside
# 30 MB 18M not the shards.
expect_exit 4 dt-shard-data --out disk/data text_50M
expect_match stderr 'disk/.*No space left on device; the file system is full'
expect_equal "$(ls -A disk)" ""
head -c 30000000 text_50M >disk/ballast
expect_exit 4 dt-shard-data --out disk/data text_18M
expect_match stderr 'disk/.*No space left on device; the file system is full'
expect_equal "$(ls -A disk)" ballast
rm disk/ballast
expect_exit 0 dt-shard-data --out disk/data text_18M
expect_exit 0 dt-shard-data --verify disk/data

# What is resumed keeps its spool, and goes on when there is room.
rm -r disk/data
head -c 30000000 text_50M >disk/ballast
expect_exit 4 dt-shard-data --out disk/again --resume text_18M
compgen -G 'disk/.again.partial/spool-*/range-00000.spool' >/dev/null || fail "the spool is gone"
rm disk/ballast
expect_exit 0 dt-shard-data --out disk/again --resume text_18M
expect_exit 0 dt-shard-data --verify disk/again
expect_equal "$(ls -A disk)" again
