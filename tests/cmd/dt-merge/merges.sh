#!/usr/bin/env bash
# One model from a checkpoint's pieces: the same file from any layout, whole or not there.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make() { make_checkpoint "$@" || fail "make_checkpoint $*"; }
a=$(make a 10)
b=$(make b 10 parts=7)

expect_exit 0 dt-merge "$a" --out hf
expect_equal "$(cat stdout)" ""
expect_match stderr "wrote hf: 12,104 parameters of step 10"
expect_equal "$(cd hf && echo *)" "config.json generation_config.json model.safetensors"
expect_match hf/config.json '"model_type": "gpt2"'
expect_exit 0 dt-merge --quiet "$b" --out hf2
cmp hf/model.safetensors hf2/model.safetensors || fail "layouts make different safetensors"
for writers in 2 3 5 7; do
  written=$(make "w$writers" 10 writers=$writers)
  expect_equal "$(cd "$written" && echo rank-*.h5 | wc -w)" "$writers" "files of $writers writers"
  expect_exit 0 dt-merge --quiet "$written" --out "hf_w$writers"
  cmp hf/model.safetensors "hf_w$writers/model.safetensors" || fail "$writers writers make different safetensors"
  cmp hf/config.json "hf_w$writers/config.json" || fail "$writers writers make a different config.json"
  expect_exit 0 dt-merge --quiet "$written" --out "w$writers.h5"
done
header=$(od -An -tu8 -N 8 hf/model.safetensors | tr -d ' ')
expect_equal $((header % 8)) 0 "the data is aligned"
expect_equal "$(stat -c %s hf/model.safetensors)" $((8 + header + 12104 * 4)) "the file's size"
expect_equal "$(head -c 44 hf/model.safetensors | tail -c 36)" '{"__metadata__":{"format":"pt"},"tra'

expect_exit 0 dt-merge --json "$a" --out model.h5
expect_equal "$(cat stdout)" '{"path":"model.h5","format":"h5","step":10,"parameters":12104,"bytes":48416,"tensors":36,"shards":1,"dtype":"fp32","checkpoints":1,"ema":false,"tokenizer":false,"clamped":0}'
expect_exit 0 dt-merge "$b" --out model2.h5
cmp model.h5 model2.h5 || fail "layouts make different HDF5 files"
for writers in 2 3 5 7; do cmp model.h5 "w$writers.h5" || fail "$writers writers make a different HDF5 file"; done
expect_exit 0 dt-merge "$a" --out other.name --format h5
cmp model.h5 other.name || fail "--format h5"
expect_exit 0 dt-merge "$a" --out new/folders/folder.h5 --format hf
expect_match new/folders/folder.h5/config.json "gpt2"

# An existing path is kept, or replaced on demand when it is a model.
for out in hf model.h5; do
  expect_exit 3 dt-merge "$a" --out "$out"; expect_match stderr "$out already exists.*--overwrite"
  expect_exit 0 dt-merge "$a" --out "$out" --overwrite
done
cmp hf/model.safetensors hf2/model.safetensors || fail "--overwrite"
mkdir -p home/work
expect_exit 3 dt-merge "$a" --out home --overwrite; expect_match stderr "home is not a Hugging Face model folder"
expect_exit 3 dt-merge "$a" --out a --overwrite; expect_match stderr "not be overwritten"
expect_exit 3 dt-merge "$a" --out "$a" --overwrite; expect_match stderr "not be overwritten"
expect_exit 0 dt-checkpoint verify "$a"
expect_equal "$(find . -name '.*.tmp-*' | wc -l)" 0 "temporary files"
