#!/usr/bin/env bash
# Sequences that ranks divide (--cp): a run may change that at every start; whatever else training does, does it under them.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../layouts.sh"
make_shards shards
echo '{"model_type":"mistral","vocab_size":257,"hidden_size":32,"intermediate_size":64,"num_hidden_layers":3,"num_attention_heads":4,
  "num_key_value_heads":2,"max_position_embeddings":64,"sliding_window":9,"tie_word_embeddings":true}' >windowed.json
common=(--quiet --model windowed.json --grad-lanes 4 --schedule constant --warmup-steps 0 --mask-documents)
last() { echo "$1/checkpoints/$(printf 'step-%08d' "$2").g$3"; }

train one "${common[@]}" --steps 20 --eval-every 4 --save-every 2 >/dev/null || fail "one rank"
starts=0
while read -r kind words; do
  starts=$((starts + 1))
  read -ra words <<<"$words"
  expect_exit 0 train_as "$kind" changes "${common[@]}" --steps $((4 * starts)) --eval-every 4 --save-every 2 "${words[@]}"
done <<'STARTS'
threads=2 --cp 2
mpi=4 --cp 4 --recompute selective
threads=8 --cp 2 --tp 2 --sequence-parallel --pp 2 --zero 1 --recompute full
threads=5 --cp 2 --tp 1 --pp 1 --zero 3 --zero-group node --checkpoint-writers-per-node 1
mpi=4 --cp 2 --zero 1 --no-background-save
STARTS
expect_close "$(losses changes)" "$(losses one)" 1e-5 "losses"
expect_equal "$(digest_of changes)" "$(digest_of one)" "data digests"
expect_exit 0 dt-checkpoint verify --quiet changes/checkpoints/*
expect_exit 0 dt-checkpoint list changes
for layout in dp=1,cp=2,tp=1,zero=0 dp=1,cp=4,tp=1,zero=0 pp=2,dp=1,cp=2,tp=2,sp=on,zero=1 dp=2,cp=2,tp=1,zero=3; do
  expect_match stdout "$layout "
done
expect_exit 0 train changes "${common[@]}" --steps 21 --comm threads=2 --cp 2 --zero 0
expect_exit 0 train changes "${common[@]:1}" --steps 22
expect_match stderr 'results will not be bit-identical to the earlier run: .*cp 2 → 1'

# Evaluated alone, and its logits.
evaluate() { # LOGITS OPTIONS...
  dt-train --eval-only --quiet --json --run one --data shards --sequence-length 32 --threads 1 --eval-batches 2 --micro-batch 2 \
    --mask-documents --logits-out "$1" --logits-sequences 3 "${@:2}" | sed -nE 's/.*"val_loss":([^,]+),.*/0 \1/p'
}
expected=$(evaluate one.h5)
for words in "threads=2 --cp 2" "threads=4 --cp 2 --tp 2" "threads=4 --cp 2 --pp 2" "threads=8 --cp 4"; do
  # shellcheck disable=SC2086
  expect_close "$(evaluate divided.h5 --comm $words)" "$expected" 1e-5 "evaluation of $words"
  expect_exit 0 h5diff --delta=1e-5 one.h5 divided.h5
  rm divided.h5
done

# Any layout trains the same; at equal division, bit for bit.
layouts="dp=1; cp=2,dp=1; cp=4,dp=1; cp=2,dp=2,zero=1; cp=2,dp=2,zero=3; cp=2,tp=2,sp=on,dp=1,recompute=full; cp=2,pp=2,dp=1,schedule=zero-bubble; cp=8,dp=1"
sed 's/"mistral"/"qwen2","use_sliding_window":true,"layer_types":["full_attention","sliding_attention","full_attention"]/' \
  windowed.json >mixed.json
for model in mixed.json llama-tiny gpt2.json; do
  echo '{"model_type":"gpt2","vocab_size":259,"n_embd":32,"n_layer":2,"n_head":4,"n_positions":64}' >gpt2.json
  expect_exit 0 compare threads=8 "$layouts" --model "$model" --sequence-length 32 --micro-batch 2 --steps 20 --precision fp64
  expect_equal "$(grep -c 'losses within 1e-10$' stdout)" 7 "layouts of $model in fp64"
done
expect_exit 0 compare threads=8 "cp=2,dp=1; cp=2,dp=2; cp=2,dp=4,zero=1; cp=2,dp=4,zero=1,zero-group=2; cp=2,pp=2,dp=2,recompute=full; cp=2,dp=1,recompute=selective" \
  --model windowed.json --sequence-length 32 --micro-batch 1 --steps 20 --json
expect_equal "$(equal_layouts)" 6 "layouts of equal bits"
expect_exit 0 compare threads=4 "cp=2,dp=1; cp=2,dp=2; dp=1" --model llama-tiny --sequence-length 32 --micro-batch 1 --steps 5 --precision bf16 --json
expect_equal "$(equal_layouts)" 2 "layouts of equal bits in bf16"

# Sequences that do not divide, and too few ranks.
expect_exit 2 train bad "${common[@]}" --steps 2 --comm threads=4 --cp 3
expect_match stderr '--cp 3 does not divide sequences of 32 tokens into 6 equal chunks, two for each rank; use --cp 2, --sequence-length 30 or --sequence-length 36$'
expect_exit 2 train bad "${common[@]}" --steps 2 --cp 2
expect_match stderr 'this layout needs 2 ranks \(cp 2\); 1 was started; use .*, or start 2 ranks'
