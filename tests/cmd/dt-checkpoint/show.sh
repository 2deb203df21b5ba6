#!/usr/bin/env bash
# show tells what a checkpoint holds.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
ckpt=$(make_checkpoint run 20 parts=3) || fail "make_checkpoint"

expect_exit 0 dt-checkpoint show "$ckpt"
expect_match stdout "^step +20$"
expect_match stdout "^samples +160 of 32 tokens each$"
expect_match stdout "^layout +pp=1,dp=3,tp=1,zero=0$"
expect_match stdout "^model +gpt2, 2 layers, hidden 24, .* 12,104 parameters$"
expect_match stdout "^layers.1.mlp.down.weight +adam_v +f32 +\[24, 40\] +3$"
whole=$(make_checkpoint run 30) || fail "make_checkpoint"
expect_exit 0 dt-checkpoint show "$whole"
expect_match stdout "^layers.1.mlp.down.weight +weights +f32 +\[24, 40\] +whole$"

expect_exit 0 dt-checkpoint show "$ckpt" --json
expect_equal "$(wc -l <stdout)" 1
expect_match stdout '"state":\{"step":20,"samples_consumed":160,'
expect_match stdout '"mesh":\{"pp":1,"dp":3,"tp":1,"zero":0,"zero_group":0,"schedule":"1f1b","virtual_stages":1,"stages":\[\]\}'
expect_match stdout '"model_type":"gpt2"'
expect_match stdout '\{"tensor":"embedding.token.weight","kind":"weights","dtype":"f32","shape":\[97,24\],"pieces":\[\{"start":\[0,0\],"box":\[97,24\],"begin":0,"end":776,"file":"rank-00000.h5","dataset":"/weights/embedding.token.weight@0",'

# Several writers: tensors lie whole in one file, or are cut where one writer's share ends.
several=$(make_checkpoint several 20 writers=3) || fail "make_checkpoint"
expect_exit 0 dt-checkpoint show "$several"
expect_match stdout "^files +3, "
expect_equal "$(grep -cE '^[a-z_.0-9]+ +(weights|adam_[mv]) +f32 .* 2$' stdout)" 2 "tensors cut by three shares"
expect_equal "$(grep -cE '^[a-z_.0-9]+ +(weights|adam_[mv]) +f32 .* whole$' stdout)" 106 "tensors in one share"
expect_exit 0 dt-checkpoint show "$several" --json
expect_match stdout '"files":\[\{"name":"rank-00000.h5","bytes":[0-9]+\},\{"name":"rank-00001.h5",.*\{"name":"rank-00002.h5",'
expect_match stdout '"begin":0,"end":([0-9]+),"file":"rank-00000.h5",[^}]*\},\{[^}]*"begin":\1,"end":[0-9]+,"file":"rank-00001.h5"'

head -c 300 "$ckpt/manifest.json" >torn && mv torn "$ckpt/manifest.json"
expect_exit 3 dt-checkpoint show "$ckpt"; expect_match stderr "manifest.json"
