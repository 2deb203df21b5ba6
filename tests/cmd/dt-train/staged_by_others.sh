#!/usr/bin/env bash
# --stage-dir in a folder where everybody may write: what another user planted there is neither read, followed, removed nor waited for.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../users.sh"
umask 022
make_shards shards
dt-shard-data --quiet --out other --val-fraction 0.2 <(seq 1 9000) >/dev/null
chown -R "$attacker" other
install -d -m 1777 scratch
make_home "$victim" home
own=scratch/dt-staged-$victim
run=0

# A run of the victim's, which is to end soon and to train on the original, whatever lies in scratch.
stage() {
  arguments "home/$((++run))" --steps 2 --schedule constant --stage-dir scratch
  expect_exit 0 as "$victim" timeout 60 dt-train "${train_args[@]}"
  [[ $run = 1 ]] || expect_equal "$(digest_of "home/$run")" "$(digest_of home/1)" "the data of run $run"
}
expect_refused() {
  stage
  expect_match stderr "shards is read in place, not from a local copy: .*$own"
}

# The copy that the user makes is the user's alone.
stage
expect_match stderr "reading data from the local copy $own/dt-dataset-"
name=$(basename "$own"/dt-dataset-*)
if as "$attacker" cat "$own/$name/dataset.json" 2>/dev/null; then fail "the copy is readable"; fi
if as "$attacker" flock -n "$own/dt-stage.lock" true 2>/dev/null; then fail "the lock can be taken"; fi
rm -r "$own"

# Another dataset under the copy's name, beside the user's folder and in place of it.
for place in scratch "$own"; do
  as "$attacker" mkdir -p "$place"
  as "$attacker" cp -r other "$place/$name"
done
expect_refused
expect_match stderr "$attacker"
[[ -e $own/$name/dataset.json && -e scratch/$name/dataset.json ]] || fail "the planted copies were removed"
rm -r "$own"

# A lock that another holds, a pipe in its place, and leftovers that are none of the user's.
as "$attacker" mkdir -p scratch/.dt-dataset-0123456789abcdef.removed/kept
as "$attacker" touch scratch/dt-stage.lock
as_job "$attacker" bash -c 'exec 9<scratch/dt-stage.lock && flock 9 && exec sleep 300'
stage
expect_match stderr "reading data from the local copy $own/$name"
rm -r "$own"
kill "$locker"
rm scratch/dt-stage.lock
as "$attacker" mkfifo scratch/dt-stage.lock
stage
[[ -e scratch/.dt-dataset-0123456789abcdef.removed/kept ]] || fail "another user's folder was removed"
rm -r "$own"

# A link to a folder of the user's, which holds what has the names of leftovers and copies; one to nothing, a pipe, a file.
as "$victim" mkdir -p home/private/.dt-dataset-0123456789abcdef.removed home/private/dt-dataset-0123456789abcdef
as "$attacker" ln -s "$PWD/home/private" "$own"
expect_refused
expect_equal "$(find home/private -mindepth 1 | wc -l)" 2 "what is in the private folder"
rm "$own"
as "$attacker" ln -s nowhere "$own"
expect_refused
rm "$own"
as "$attacker" mkfifo "$own"
expect_refused
rm "$own"
as "$attacker" touch "$own"
expect_refused
rm "$own"

# A folder that its owner cannot read, or lets others write to.
as "$victim" mkdir -m 000 "$own"
expect_refused
rmdir "$own"
as "$victim" mkdir -m 777 "$own"
expect_refused
rmdir "$own"

# Storage that is another user's link, or their folder where everybody may write; or where everybody may rename.
as "$attacker" ln -s . scratch/link
arguments home/link --steps 2 --stage-dir scratch/link
expect_exit 0 as "$victim" dt-train "${train_args[@]}"
expect_match stderr 'shards is read in place, not from a local copy: scratch/link'
as "$attacker" mkdir -m 1777 scratch/theirs
arguments home/theirs --steps 2 --stage-dir scratch/theirs
expect_exit 0 as "$victim" dt-train "${train_args[@]}"
expect_match stderr 'shards is read in place, not from a local copy: scratch/theirs is a folder owned by uid'
chmod 777 scratch
stage
expect_match stderr 'shards is read in place, not from a local copy: scratch lets every user'
