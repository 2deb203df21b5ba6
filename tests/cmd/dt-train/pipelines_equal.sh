#!/usr/bin/env bash
# Fifty steps under every schedule, with stages as even and as uneven as they may be, have the weights of one rank's, bit for bit.
source "$(dirname "${BASH_SOURCE[0]}")/../layouts.sh"
make_shards shards
pipelines="dp=1; pp=8,schedule=gpipe; pp=8,recompute=full; pp=8,schedule=zero-bubble,recompute=selective; pp=4,dp=2,zero=1
  ; pp=4,dp=2,schedule=interleaved,virtual-stages=2; pp=4,dp=2,schedule=zero-bubble,virtual-stages=2,zero=1,recompute=full
  ; pp=3,dp=2,schedule=interleaved,virtual-stages=2,stage-units=1+2+1+2+1+1; pp=3,dp=2,schedule=zero-bubble,stage-units=4+3+1,zero=1
  ; pp=2,dp=4,schedule=gpipe,zero=1,recompute=selective; pp=2,dp=4,schedule=zero-bubble,virtual-stages=2,stage-units=1+5+1+1
  ; pp=1,dp=2,schedule=interleaved,virtual-stages=4,recompute=full"
for tied in true false; do
  echo '{"model_type":"llama","vocab_size":257,"hidden_size":32,"intermediate_size":64,"num_hidden_layers":6,"num_attention_heads":4,
    "num_key_value_heads":2,"max_position_embeddings":64,"tie_word_embeddings":'$tied'}' >deep.json
  expect_exit 0 compare threads=8 "$pipelines" --model deep.json --micro-batch 1 --steps 50 --json
  expect_equal "$(equal_layouts)" 12 "pipelines with equal weights"
  expect_equal "$(grep -c '"promised_equal":true' stdout)" 12 "pipelines of which that is promised"
done
expect_exit 0 compare mpi=8 "dp=1; pp=8; pp=4,dp=2,schedule=interleaved,virtual-stages=2,zero=1
  ; pp=2,dp=4,schedule=zero-bubble,virtual-stages=2,recompute=full" --model deep.json --micro-batch 1 --steps 10 --json
expect_equal "$(equal_layouts)" 4 "pipelines of processes with equal weights"
