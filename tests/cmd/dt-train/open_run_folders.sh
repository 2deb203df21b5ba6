#!/usr/bin/env bash
# Runs in folders that other users may read or write: readers hold nothing up, one warning names the writers, and what
# another user put first where everybody may write is neither followed nor resumed from.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../users.sh"
umask 022
make_shards shards
make_home "$victim" home
train_as_victim() { # CODE RUN OPTIONS…
  local code=$1
  arguments "${@:2}" --schedule constant
  expect_exit "$code" as "$victim" timeout 60 dt-train "${train_args[@]}"
}

train_as_victim 0 home/run --steps 1
! grep -q 'may write' stderr || fail "a private run is said to be open"
expect_equal "$(stat -c %a home/run/generations/0001.lock)" 600
as_job "$attacker" bash -c 'exec 9<home/run/generations/0001.json && flock 9 && exec sleep 300'
train_as_victim 0 home/run --steps 2
kill "$locker"

chmod 757 home/run
train_as_victim 0 home/run --steps 3
expect_equal "$(grep -c 'everybody may write to home/run' stderr)" 1 "warnings"

# Lines go into no file that a link names.
install -o "$victim" -g "$victim" -m 600 /dev/null home/private
as "$attacker" mv home/run/metrics.jsonl home/run/moved
as "$attacker" ln -s ../private home/run/metrics.jsonl
train_as_victim 4 home/run --steps 4
expect_match stderr "home/run/metrics.jsonl is a symbolic link owned by uid $attacker"
[[ ! -s home/private ]] || fail "the link was followed"

# A run that another user began, where everybody may write.
install -d -m 1777 scratch
cp -r home/run scratch/run
chown -R "$attacker" scratch/run
chmod -R a+w scratch/run
train_as_victim 4 scratch/run --steps 5
expect_match stderr "scratch/run is a folder owned by uid $attacker; expected a folder that you own"

# Nor is one taken that lies deeper in what they made, though a group may write to it.
rm -r scratch/run
as "$attacker" mkdir -m 755 scratch/exp
cp -r home/run scratch/exp/run
chown -R "$attacker" scratch/exp/run
chmod -R a+w scratch/exp/run
chmod 2775 scratch/exp/run
train_as_victim 4 scratch/exp/run --steps 5
expect_match stderr "scratch/exp is a folder owned by uid $attacker; expected a folder that you own"
