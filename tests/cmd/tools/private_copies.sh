#!/usr/bin/env bash
# What is made of private files is private: datasets, tokenizers, checkpoints, exports and what is left of an interrupted work.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
umask 022
chmod 755 .
expect_mode() { expect_equal "$(stat -c %a "$1")" "$2" "the mode of $1"; }
shard() { expect_exit "${code:-0}" dt-shard-data --quiet --overwrite --out "$@"; }

# Datasets: by the modes of all inputs, of folders that are named, and of the tokenizer.
mkdir text
seq 1 2000 | tee text/a >text/b
make_tokenizer tokenizer.json
for modes in "755 644 644 644 755" "755 644 600 644 700" "755 644 640 644 750" "700 644 644 644 700" "755 644 644 600 700"; do
  read -r folder a b tokenizer expected <<<"$modes"
  chmod "$folder" text && chmod "$a" text/a && chmod "$b" text/b && chmod "$tokenizer" tokenizer.json
  shard data --val-fraction 0.2 --tokenizer tokenizer.json text
  expect_mode data "$expected"
done
chmod 600 text/a
printf '\xff' >text/b
code=3 shard partial --resume text
expect_mode .partial.partial 700
chmod 644 text/a tokenizer.json
shard shards --val-fraction 0.2 --tokenizer tokenizer.json text/a

# The tokenizer that a run and its checkpoints keep.
chmod 700 shards
train run --steps 1 --quiet >/dev/null || fail "dt-train"
expect_mode run 755
expect_exit 0 dt-train --quiet --eval-only --data shards --sequence-length 32 --run run --logits-out logits.h5 --logits-sequences 2
expect_mode logits.h5 600
expect_mode run/tokenizer 700
checkpoint=$(dt-checkpoint latest run)
expect_mode "$checkpoint" 755
expect_mode "$checkpoint/tokenizer.json" 600

# What is made of a checkpoint: by the modes of its files, its folder and its run.
derive() {
  expect_exit 0 dt-merge --quiet --overwrite "$checkpoint" --out hf
  expect_exit 0 dt-merge --quiet --overwrite "$checkpoint" --out merged.h5
  expect_exit 0 dt-checkpoint reshard --quiet --overwrite --layout tp=2 "$checkpoint" resharded
  expect_mode hf "$1" && expect_mode merged.h5 "$2" && expect_mode resharded "$1"
}
derive 700 600
chmod 644 "$checkpoint"/*
derive 755 644
chmod 750 run
derive 750 640
chmod 755 run && chmod 700 "$checkpoint"
derive 700 600
chmod 755 "$checkpoint" && chmod 600 "$checkpoint"/rank-*.h5
derive 700 600

# A checkpoint of a model from elsewhere; one that is repaired.
expect_exit 0 dt-checkpoint import --quiet hf imported
expect_mode imported 700
cp -rp "$checkpoint" replica
chmod 644 replica/*
truncate -s 100 "$checkpoint"/rank-00000.h5
expect_exit 0 dt-checkpoint repair --quiet "$checkpoint" --from replica
expect_mode "$checkpoint"/rank-00000.h5 600
