#!/usr/bin/env bash
# Wrong options, checkpoints that are none or damaged, full disks: the exit code, a message that names the thing, no output.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
ckpt=$(make_checkpoint run 10) || fail "make_checkpoint"

expect_exit 0 dt-merge --help-all
for option in dtype max-shard-bytes with-optimizer average; do grep -q -- "--$option" stdout || fail "--help-all lacks --$option"; done
expect_exit 2 dt-merge; expect_match stderr "no checkpoint was given"
expect_exit 2 dt-merge "$ckpt"; expect_match stderr "--out is missing"
expect_exit 2 dt-merge "$ckpt" "$ckpt" --out m; expect_match stderr "2 checkpoints were given without --average.*--average uniform"
for average in mean weights weights=1 weights=0.5,x weights=0.5,0.6 weights=0.5,0.3,0.2 weights=inf,-inf weights= ema= ema=0 ema=1.5 ema=nan ema=-1; do
  expect_exit 2 dt-merge "$ckpt" "$ckpt" --out m --average "$average"; expect_match stderr "'$average' for option '--average'; expected "
done
expect_match stderr "above 0 and up to 1"
expect_exit 2 dt-merge "$ckpt" "$ckpt" --out m --average uniform --with-optimizer; expect_match stderr "averaged weights have none"
expect_exit 2 dt-merge "$ckpt" --out m --dtype fp64; expect_match stderr "fp64.*fp32"
expect_exit 2 dt-merge "$ckpt" --out m --max-shard-bytes -1; expect_match stderr "max-shard-bytes"
expect_exit 2 dt-merge "$ckpt" --out m.h5 --max-shard-bytes 5G; expect_match stderr "max-shard-bytes cannot be combined with --format h5"
other=$(make_checkpoint llama 10 model=llama) || fail "make_checkpoint"
expect_exit 3 dt-merge "$ckpt" "$other" --out m --average uniform
expect_match stderr "$other: embedding.position.weight is missing, but \\[32, 24\\] in $ckpt"
dropped=$(make_checkpoint dropped 10 drop=layers.1.mlp.up.bias) || fail "make_checkpoint"
expect_exit 3 dt-merge "$ckpt" "$dropped" --out m --average uniform; expect_match stderr "$dropped: weights of layers.1.mlp.up.bias"
rm -r dropped llama
expect_absent m
expect_exit 2 dt-merge "$ckpt" --out m --format gguf; expect_match stderr "gguf.*hf"
expect_exit 2 dt-merge "$ckpt" --out -; expect_match stderr "standard output"
expect_exit 2 dt-merge "$ckpt" --out - --format h5; expect_match stderr "HDF5 cannot be written to a pipe"
expect_exit 3 dt-merge nowhere --out m; expect_match stderr "nowhere does not exist"
expect_exit 3 dt-merge run --out m; expect_match stderr "run is a run directory.*dt-checkpoint latest run"
mkdir folder; expect_exit 3 dt-merge folder --out m; expect_match stderr "folder is not a checkpoint"
expect_exit 4 dt-merge "$ckpt" --out /proc/nowhere/m; expect_match stderr "/proc/nowhere"

code=0
dt-merge --json "$ckpt" --out full.h5 >/dev/full 2>stderr || code=$?
expect_equal "$code" 4 "exit with a full stdout"
expect_match stderr "standard output"

# Damage in the weights is found while merging; nothing appears.
for out in m m.h5; do
  cp -r "$ckpt" bad
  scratch_weights bad rank-00000.h5
  expect_exit 3 dt-merge bad --out "$out"; expect_match stderr "bad/rank-00000.h5: weights of .*digest"
  truncate -s 5000 bad/rank-00000.h5
  expect_exit 3 dt-merge bad --out "$out"; expect_match stderr "bad/rank-00000.h5 has 5000 bytes"
  sed -i 's/"version": 1/"version": 7/' bad/manifest.json
  expect_exit 3 dt-merge bad --out "$out"; expect_match stderr "version 7"
  dropped=$(make_checkpoint dropped 10 drop=layers.1.mlp.up.bias) || fail "make_checkpoint"
  expect_exit 3 dt-merge "$dropped" --out "$out"; expect_match stderr "$dropped: layers.1.mlp.up.bias is missing"
  expect_absent "$out"
  rm -rf bad dropped
done

# Of several files, the one that is missing or damaged is named.
several=$(make_checkpoint several 10 writers=3) || fail "make_checkpoint"
for out in m m.h5; do
  cp -r "$several" bad
  scratch_weights bad rank-00001.h5
  expect_exit 3 dt-merge bad --out "$out"; expect_match stderr "bad/rank-00001.h5: weights of .*digest"
  rm bad/rank-00002.h5
  expect_exit 3 dt-merge bad --out "$out"; expect_match stderr "bad/rank-00002.h5 is missing"
  expect_absent "$out"
  rm -r bad
done

# A limit on file sizes, then a disk that is full.
for out in m m.h5; do
  (ulimit -f 20 && expect_exit 4 dt-merge "$ckpt" --out "$out") || exit 1
  expect_match stderr "File too large"
  expect_absent "$out"
done
[[ $(id -u) = 0 ]] || skip "the rest needs root to mount a small file system"
mkdir small
mount -t tmpfs -o size=40k tmpfs small 2>/dev/null || skip "the rest needs a tmpfs, which root may not mount here"
at_exit() { umount -l "$case_dir/small"; }
for out in small/m small/m.h5; do
  expect_exit 4 dt-merge "$ckpt" --out "$out"; expect_match stderr "[Nn]o space left"
done
expect_equal "$(find small -mindepth 1 | wc -l)" 0 "files left on the full disk"
