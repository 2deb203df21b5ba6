#!/usr/bin/env bash
# Shards, element types, moments and averages, against plain recomputation with Python and numpy.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make() { make_checkpoint "$@" || fail "make_checkpoint $*"; }
python=/usr/bin/python3 # Debian's, whose packages the tests install
check() { "$python" "$DT_TESTS/python/check_merge.py" "$@" || fail "check_merge.py $*"; }
"$python" -c 'import numpy' 2>/dev/null || skip "needs the Debian packages python3 and python3-numpy"

for model in gpt2 llama; do
  a=$(make "a_$model" 10 model=$model divide=3)
  b=$(make "b_$model" 20 model=$model seed=1 writers=3 divide=7)
  c=$(make "c_$model" 30 model=$model seed=2 parts=5 divide=11)
  expect_exit 0 dt-merge --quiet "$a" --out "$model"
  check whole "$model" "$a"

  expect_exit 0 dt-merge --json "$a" --out "${model}_shards" --max-shard-bytes 10K
  expect_equal "$(json_value stdout shards)" "$(echo "${model}_shards"/model-*.safetensors | wc -w)" "shards"
  [[ $(json_value stdout shards) -gt 3 ]] || fail "one shard"
  check equal "$model" "${model}_shards"
  expect_exit 0 dt-merge --quiet "$a" --out "${model}_one" --max-shard-bytes 0
  cmp "$model/model.safetensors" "${model}_one/model.safetensors" || fail "--max-shard-bytes 0"

  for dtype in bf16 fp16; do
    expect_exit 0 dt-merge --json "$a" --out "${model}_$dtype" --dtype $dtype
    expect_match stdout "\"dtype\":\"$dtype\""
    check rounded "$model" "${model}_$dtype" $dtype
  done

  expect_exit 0 dt-merge --quiet "$a" --out "${model}_moments" --with-optimizer
  cmp "$model/model.safetensors" "${model}_moments/model.safetensors" || fail "--with-optimizer changes the weights"
  check moments "${model}_moments" "$a"
  expect_exit 0 dt-merge --quiet "$a" --out "${model}_sharded_moments" --with-optimizer --max-shard-bytes 10K
  check moments "${model}_sharded_moments" "$a"

  for name in a b c; do
    declare -n checkpoint=$name
    dt-merge --quiet "$checkpoint" --out "${model}_of_$name" || fail "dt-merge $checkpoint"
  done
  for average in uniform weights=0.5,0.3,0.2 ema=0.9; do
    expect_exit 0 dt-merge "$a" "$b" "$c" --average $average --out mean
    expect_match stderr "of the mean of 3 checkpoints"
    check mean mean "${average/#uniform/weights=1,1,1}" "${model}_of_a" "${model}_of_b" "${model}_of_c"
    rm -r mean
  done
  expect_exit 0 dt-merge --quiet "$a" --average uniform --out mean
  cmp "$model/model.safetensors" mean/model.safetensors || fail "the mean of one"
  rm -r mean
done

# Weights beyond fp16's largest end the merge, or become that value.
large=$(make large 10 divide=1e-5)
for out in half half.h5; do
  expect_exit 3 dt-merge "$large" --out $out --dtype fp16
  expect_match stderr "values of embedding.token.weight exceed the largest f16 value, 65504.*--clamp"
  expect_absent $out
  expect_exit 0 dt-merge --json "$large" --out $out --dtype fp16 --clamp
  expect_match stderr "clamped [1-9][0-9,]* values? in [1-9][0-9]* tensors? to the largest fp16 value"
  expect_match stdout '"clamped":[1-9]'
done
expect_equal "$(find . -name '.*.tmp-*' | wc -l)" 0 "temporary files"
