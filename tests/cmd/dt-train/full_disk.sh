#!/usr/bin/env bash
# A disk that fills up while a checkpoint is written: exit 4, the checkpoint before it intact, nothing half-written.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
[[ $(id -u) = 0 ]] || skip "needs root to mount a small file system"
mkdir small
mount -t tmpfs -o size=3m tmpfs small 2>/dev/null || skip "this machine does not let root mount a tmpfs"
small=$PWD/small
at_exit() { umount -l "$small"; }
make_shards shards

expect_exit 4 train small/run --steps 50 --save-every 1
expect_match stderr "[Nn]o space left"
last=$(dt-checkpoint latest small/run) || fail "no checkpoint is left"
expect_exit 0 dt-checkpoint verify "$last"
expect_equal "$(find small/run/checkpoints -mindepth 1 -maxdepth 1 -name '.*' | wc -l)" 0 "temporary folders"

# With several ranks: said once, and all end in good order.
expect_exit 4 train_as mpi=2 small/two --steps 100 --save-every 1
expect_match stderr 'No space left|is full'
expect_equal "$(grep -c 'error: ' stderr)" 1 "messages"
if grep -q 'MPI_ABORT' stderr; then fail "the ranks were aborted"; fi
