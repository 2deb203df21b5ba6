#!/usr/bin/env bash
# A tokenizer's files travel from the data through every checkpoint to the merged folder; a model and data of other tokens are refused.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_tokenizer tokenizer.json
make_shards bytes
# The dataset keeps the chat template beside it, and the special tokens that it uses.
echo '{"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>", "tokenizer_class": "LlamaTokenizer", "chat_template": "{{ bos_token }}"}' \
  >tokenizer_config.json
echo '{{ bos_token }}{{ messages }}' >chat_template.jinja
dt-shard-data --quiet --tokenizer tokenizer.json --val-fraction 0.2 --out shards text >/dev/null || fail "dt-shard-data"
printf '{"model_type":"llama","vocab_size":600,"hidden_size":32,"intermediate_size":64,"num_hidden_layers":2,"num_attention_heads":2,"max_position_embeddings":64}' \
  >model.json

# holds FOLDER: the data's tokenizer, and what transformers needs beside it.
holds() {
  cmp shards/tokenizer.json "$1/tokenizer.json" || fail "$1/tokenizer.json"
  grep -q '"eos_token": "<|end_of_text|>"' "$1/tokenizer_config.json" || fail "$1/tokenizer_config.json"
  cmp shards/tokenizer_config.json "$1/tokenizer_config.json" || fail "$1/tokenizer_config.json"
  cmp chat_template.jinja "$1/chat_template.jinja" || fail "$1/chat_template.jinja"
}

train run --model model.json --steps 4 --save-every 2 >/dev/null 2>&1 || fail "dt-train"
last=$(dt-checkpoint latest run)
for checkpoint in run/checkpoints/*; do
  holds "$checkpoint"
  expect_exit 0 dt-checkpoint verify "$checkpoint"
done
expect_exit 0 dt-checkpoint reshard --quiet "$last" wide --layout dp=2
holds wide

# The data may be gone.
mv shards kept
expect_exit 0 dt-merge --json "$last" --out merged
expect_match stdout '"tokenizer":true'
mv kept shards
holds merged

# What only nodes hold has it, too, once it is brought together.
start_training local --model model.json --schedule constant --warmup-steps 0 --steps 1000000 --save-every 2 \
  --checkpoint-local "$case_dir/nodes" --flush-every 100000
wait_for_step local 5
# shellcheck disable=SC2154
kill -KILL "$trainer"
wait "$trainer" 2>/dev/null || true
expect_equal "$(find local/checkpoints -name tokenizer.json)" "" "checkpoints in the run directory"
step=$(($(sed -nE 's/.*"kind":"train","step":([0-9]+),.*/\1/p' local/metrics.jsonl | tail -n 1) + 2))
expect_exit 0 train local --model model.json --schedule constant --warmup-steps 0 --steps "$step" --save-every 2 \
  --checkpoint-local "$case_dir/nodes"
expect_match stderr 'assembled .* from the local checkpoints'
for checkpoint in local/checkpoints/*; do
  holds "$checkpoint"
  expect_exit 0 dt-checkpoint verify "$checkpoint"
done

# A model's own files stay with it: imported, trained on, merged. The data's chat template comes to one that has none.
cp -r merged base
rm base/chat_template.jinja
sed -i '/chat_template/d; s/"<|end_of_text|>",/"<|end_of_text|>"/' base/tokenizer_config.json
train on_base --model model.json --init-from base --steps 1 >/dev/null 2>&1 || fail "dt-train --init-from base"
cmp chat_template.jinja "$(dt-checkpoint latest on_base)/chat_template.jinja" || fail "the data's chat template"
echo '{{ messages }}' >merged/chat_template.jinja
sed -i 's/"tokenizer_class"/"model_max_length": 64, "tokenizer_class"/' merged/tokenizer_config.json
expect_exit 0 dt-checkpoint import --quiet merged imported
for model in merged imported; do
  train "on_$model" --model model.json --init-from "$model" --steps 1 >/dev/null 2>&1 || fail "dt-train --init-from $model"
  last=$(dt-checkpoint latest "on_$model")
  for file in tokenizer.json tokenizer_config.json chat_template.jinja; do
    cmp "merged/$file" "$last/$file" || fail "$last/$file"
  done
done

# refused COMMAND...: data whose ids mean something else.
refused() {
  expect_exit 3 "$@" --data bytes --model model.json
  expect_match stderr 'data and model have different tokens: token [0-9]+ is ".*" in .* and ".*" in bytes/tokenizer.json'
  expect_match stderr 'dt-shard-data --tokenizer'
  expect_absent other
}
refused train other --steps 9 --init-from merged
refused train other --steps 9 --init-from imported
refused dt-train --eval-only --sequence-length 32 --init-from merged

# More tokens of the same meanings are no other tokenizer; what cannot be read is told.
cp -r merged more
sed -i 's/<|begin_of_text|>/<|my_token|>/' more/tokenizer.json
expect_exit 3 train other --model model.json --init-from more --steps 1
expect_match stderr 'is "<.my_token.>" in more/tokenizer.json and "<.begin_of_text.>" in shards/tokenizer.json'
echo '{"model": {"type": "Unigram"}}' >more/tokenizer.json
expect_exit 0 train unigram --model model.json --init-from more --steps 1
expect_match stderr 'cannot check whether model and data have the same tokens: more/tokenizer.json: .*Unigram'
cmp shards/tokenizer.json "$(dt-checkpoint latest unigram)/tokenizer.json" || fail "the data's tokenizer"
