#!/usr/bin/env bash
# Members of a group share a project's folder: they replace each other's datasets, go on with each other's runs and prune them.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../users.sh"
ann=$victim bob=$attacker lab=60003 owner=60004
umask 002
# shellcheck disable=SC2154 # hang_s is of lib.sh
member() { setpriv --reuid "$1" --regid "$1" --groups "$lab" --inh-caps=-all timeout "$hang_s" "${@:2}"; }
train_as() { # USER RUN OPTIONS…
  arguments "${@:2}" --data project/data --schedule constant --comm self
  expect_exit 0 member "$1" dt-train "${train_args[@]}"
}
seq 1 2000 >text
make_tokenizer tokenizer.json
install -d -m 2775 -o "$owner" -g "$lab" project

for user in "$ann" "$bob" "$ann"; do
  expect_exit 0 member "$user" dt-shard-data --quiet --overwrite --val-fraction 0.2 --tokenizer tokenizer.json --out project/data text
  expect_equal "$(stat -c %u project/data)" "$user" "the dataset's owner"
done
expect_equal "$(ls -A project)" data "what is left"

train_as "$ann" project/run --steps 1
expect_equal "$(stat -c '%a %g' project/run/generations/0001.lock)" "660 $lab"
mkdir -m 2775 project/run/checkpoints/.step-00000009.g1.tmp-gone-1  # as a kill leaves it
chown "$ann:$lab" project/run/checkpoints/.step-00000009.g1.tmp-gone-1
rm project/run/tokenizer/tokenizer.json
train_as "$bob" project/run --steps 2
expect_match stderr "members of group"
expect_absent project/run/checkpoints/.step-*
expect_equal "$(stat -c %u project/run/tokenizer)" "$bob" "the kept tokenizer's owner"
train_as "$ann" project/run --steps 3
expect_exit 0 member "$bob" dt-checkpoint prune project/run --keep-last 2
expect_absent project/run/checkpoints/*step-00000001*

# A run that its user gives to the group later, without setgid.
install -d -m 755 -o "$ann" -g "$ann" home
train_as "$ann" home/run --steps 1
member "$ann" chgrp -R "$lab" home/run
member "$ann" chmod -R g+w home/run
train_as "$ann" home/run --steps 2
train_as "$bob" home/run --steps 3
expect_exit 0 member "$bob" dt-checkpoint prune home/run --keep-last 2
expect_absent home/run/checkpoints/*step-00000001*
expect_exit 0 member "$bob" dt-checkpoint list home/run

# A copy by links blocks no tool.
member "$ann" cp -al project/run project/run.bak
train_as "$ann" project/run --steps 4
