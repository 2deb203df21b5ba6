#!/usr/bin/env bash
# show tells what a checkpoint holds.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
ckpt=$(make_checkpoint run 20 parts=3) || fail "make_checkpoint"

expect_exit 0 dt-checkpoint show "$ckpt"
expect_match stdout "^step +20$"
expect_match stdout "^samples +160, of 32 tokens$"
expect_match stdout "^mesh +pp=1,dp=3,tp=1,zero=0$"
expect_match stdout "^model +gpt2, 2 layers, hidden 24, .* 12,104 parameters$"
expect_match stdout "^layers.1.mlp.down.weight +adam_v +f32 +\[24, 40\] +3$"
whole=$(make_checkpoint run 30) || fail "make_checkpoint"
expect_exit 0 dt-checkpoint show "$whole"
expect_match stdout "^layers.1.mlp.down.weight +weights +f32 +\[24, 40\] +whole$"

expect_exit 0 dt-checkpoint show "$ckpt" --json
expect_equal "$(wc -l <stdout)" 1
expect_match stdout '"state":\{"step":20,"samples_consumed":160,'
expect_match stdout '"mesh":\{"pp":1,"dp":3,"tp":1,"zero":0\}'
expect_match stdout '"model_type":"gpt2"'
expect_match stdout '\{"tensor":"embedding.token.weight","kind":"weights","dtype":"f32","shape":\[97,24\],"pieces":\[\{"start":\[0,0\],"box":\[97,24\],"begin":0,"end":776,"file":"rank-00000.h5","dataset":"/weights/embedding.token.weight@0",'

head -c 300 "$ckpt/manifest.json" >torn && mv torn "$ckpt/manifest.json"
expect_exit 3 dt-checkpoint show "$ckpt"; expect_match stderr "manifest.json"
