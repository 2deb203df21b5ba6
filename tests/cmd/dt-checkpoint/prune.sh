#!/usr/bin/env bash
# prune keeps the newest sound checkpoints and never fewer than two that verify; a live job and other histories are left alone.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make() { make_checkpoint "$@" >/dev/null || fail "make_checkpoint $*"; }
at() { echo "$1/checkpoints/step-000000$2"; }
left() { (cd "$1/checkpoints" && echo ./*) | sed 's|./step-000000||g'; }

for step in 10 20 30 40 50; do make run $step; done
make run 35 continues=step-00000030.g1
make run 45
expect_exit 0 dt-checkpoint prune run --keep-last 2 --keep-every 20 --dry-run
expect_equal "$(left run)" "10.g1 20.g1 30.g1 35.g2 40.g1 45.g2 50.g1"
expect_match stdout "^kept          $(at run 40.g1): not on the lineage$"
expect_match stdout "^kept          $(at run 45.g2): one of the newest 2$"
expect_match stdout "^kept          $(at run 20.g1): its step is a multiple of 20$"
expect_match stdout "^would remove  $(at run 30.g1)$"
expect_equal "$(grep -c '^would remove' stdout)" 2
expect_exit 0 dt-checkpoint prune run --keep-last 2 --keep-every 20
expect_match stdout "^removed       $(at run 10.g1)$"
expect_equal "$(left run)" "20.g1 35.g2 40.g1 45.g2 50.g1"
mkdir run/checkpoints/.step-00000001.g1.removed
expect_exit 0 dt-checkpoint prune run --keep-last 1 --json
expect_match stdout "^\{\"path\":\"$(at run 20.g1)\",\"step\":20,\"generation\":1,\"action\":\"removed\"\}$"
expect_match stdout "\"action\":\"kept\",\"why\":\"not on the lineage\"\}$"
expect_equal "$(left run)" "35.g2 40.g1 45.g2 50.g1" "two stay, whatever --keep-last says"
expect_absent run/checkpoints/.step-00000001.g1.removed

# Damage that only digests show: the damaged one stays, counts for nothing, and is named.
for step in 10 20 30 40; do make rotten $step; done
printf 'xxxx' | dd of="$(at rotten 40.g1)/rank-00000.h5" bs=1 seek=4000 conv=notrunc status=none
expect_exit 0 dt-checkpoint prune rotten --keep-last 2
expect_equal "$(left rotten)" "20.g1 30.g1 40.g1"
expect_match stderr "warning: $(at rotten 40.g1) is damaged: rank-00000.h5: .*digest"
expect_match stdout "^kept          $(at rotten 40.g1): not counted: damaged: "
printf 'xxxx' | dd of="$(at rotten 30.g1)/rank-00000.h5" bs=1 seek=4000 conv=notrunc status=none
make rotten 5 generation=1
expect_exit 0 dt-checkpoint prune rotten --keep-last 1
expect_equal "$(left rotten)" "05.g1 20.g1 30.g1 40.g1"
rm "$(at rotten 20.g1)/manifest.json"
expect_exit 0 dt-checkpoint prune rotten --keep-last 1; expect_match stderr "fewer than 2 checkpoints verify; none was removed"
expect_equal "$(left rotten)" "05.g1 20.g1 30.g1 40.g1"

mkdir -p empty/checkpoints
expect_exit 0 dt-checkpoint prune empty --keep-last 3
expect_exit 3 dt-checkpoint prune nowhere --keep-last 3; expect_match stderr nowhere
expect_exit 3 dt-checkpoint prune "$(at run 45.g2)" --keep-last 3; expect_match stderr "is a checkpoint"
expect_exit 2 dt-checkpoint prune run; expect_match stderr "keep-last is missing"
expect_exit 2 dt-checkpoint prune run --keep-last 0; expect_match stderr "keep-last"
expect_exit 2 dt-checkpoint list run --keep-last 1; expect_match stderr "option of 'prune', not of 'list'"
expect_exit 2 dt-checkpoint list run --dry-run; expect_match stderr "option of 'prune', not of 'list'"

# A job that trains in it prunes by itself.
make_shards shards
start_training live --steps 1000000 --save-every 5
wait_for_step live 30
expect_exit 4 dt-checkpoint prune live --keep-last 2
expect_match stderr "another dt-train is running in live: generation 1"
expect_exit 0 dt-checkpoint prune live --keep-last 2 --dry-run; expect_match stdout "^would remove "
kill -KILL "$trainer"
wait "$trainer" 2>/dev/null || true
expect_exit 0 dt-checkpoint prune live --keep-last 2
expect_equal "$(find live/checkpoints -maxdepth 1 -name 'step-*' | wc -l)" 2
