#!/usr/bin/env bash
# The tokenizer of the data goes with a model, where the run still leads to it.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards
train run --steps 2 --save-every 1 >/dev/null 2>&1 || fail "dt-train"
ckpt=$(dt-checkpoint latest run)

expect_exit 0 dt-merge --json "$ckpt" --out model
expect_match stdout '"tokenizer":true'
cmp shards/tokenizer.json model/tokenizer.json || fail "tokenizer.json"
expect_exit 0 dt-merge "$ckpt" --out model --overwrite
expect_exit 0 dt-merge --quiet "$(dirname "$ckpt")"/*.g1 --average uniform --out mean
expect_equal "$(cd mean && echo *)" "config.json generation_config.json model.safetensors tokenizer.json"
expect_exit 0 dt-merge --json "$ckpt" --out model.h5
expect_match stdout '"tokenizer":false'

# From elsewhere the data is found beside the run.
(cd / && dt-merge --quiet "$case_dir/$ckpt" --out "$case_dir/elsewhere" >/dev/null) || fail "from elsewhere"
cmp shards/tokenizer.json elsewhere/tokenizer.json || fail "from elsewhere"

# Other data under that name, or none, is no reason to fail, and its tokenizer is not taken.
mv shards kept
expect_exit 0 dt-merge "$ckpt" --out none
expect_match stderr "the tokenizer was not exported: .*run.json names the dataset shards"
seq 1 5000 | dt-shard-data --quiet --out shards - >/dev/null || fail "dt-shard-data"
expect_exit 0 dt-merge "$ckpt" --out none --overwrite
expect_match stderr "the tokenizer was not exported"
echo '{' >run/run.json
expect_exit 0 dt-merge "$ckpt" --out none --overwrite
rm run/run.json
expect_exit 0 dt-merge "$ckpt" --out none --overwrite
expect_equal "$(cd none && echo *)" "config.json generation_config.json model.safetensors"
