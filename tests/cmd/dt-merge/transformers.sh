#!/usr/bin/env bash
# Hugging Face transformers loads what dt-merge writes and computes the same logits; dt-train reads what transformers writes.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python" 2>&1) || skip "needs torch and transformers: $message"
python=$DT_BUILD/python/bin/python
make_shards shards

# each SCRIPT FILE: the script for each line of arguments in a file.
each() {
  expect_exit 0 "$python" "$DT_TESTS/python/each.py" "$DT_TESTS/python/$1" <"$2"
  cat stdout
}

# logits NAME WEIGHTS: 64 sequences of the validation split through dt.
logits() {
  dt-train --quiet --eval-only --data shards --sequence-length 32 --eval-batches 1 --init-from "$2" --logits-out "$1.h5" \
    --logits-sequences 64 >/dev/null || fail "dt-train --eval-only with $2"
}

printf '{"model_type":"gpt2","vocab_size":300,"n_embd":48,"n_layer":2,"n_head":3,"n_positions":64}' >gpt2.json
printf '{"model_type":"gpt2","vocab_size":300,"n_embd":48,"n_layer":2,"n_head":3,"n_positions":64,"tie_word_embeddings":false}' >gpt2_untied.json
llama='"model_type":"llama","vocab_size":300,"hidden_size":48,"intermediate_size":100,"num_hidden_layers":2,"max_position_embeddings":64'
printf '{%s,"num_attention_heads":4,"num_key_value_heads":2,"tie_word_embeddings":true}' "$llama" >llama.json
printf '{%s,"num_attention_heads":3,"num_key_value_heads":3}' "$llama" >llama_untied.json
llama3='{"rope_type":"llama3","factor":4.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":32}'
printf '{%s,"num_attention_heads":3,"head_dim":20,"attention_bias":true,"mlp_bias":true,"rope_scaling":%s}' "$llama" "$llama3" \
  >llama3.json
printf '{%s,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":20,"sliding_window":9}' "${llama/llama/mistral}" >mistral.json
printf '{%s,"num_attention_heads":4,"num_key_value_heads":1,"tie_word_embeddings":true}' "${llama/llama/qwen2}" >qwen2.json

for model in gpt2 gpt2_untied llama llama_untied llama3 mistral qwen2; do
  dt-train --quiet --model "$model.json" --data shards --run "run_$model" --sequence-length 32 --steps 20 --lr 3e-3 --eval-batches 1 \
    >/dev/null || fail "training $model"
  last=$(dt-checkpoint latest "run_$model")
  dt-merge --quiet "$last" --out "hf_$model" >/dev/null || fail "dt-merge $model"
  logits "$model" "$last"
  # Shards are the same model; 16 bits nearly; moments beside it change nothing.
  dt-merge --quiet "$last" --out "sharded_$model" --max-shard-bytes 50K --with-optimizer >/dev/null || fail "dt-merge $model --max-shard-bytes"
  [[ -e sharded_$model/model.safetensors.index.json && -e sharded_$model/optimizer.safetensors.index.json ]] || fail "no shards"
  dt-merge --quiet "$last" --out "half_$model" --dtype bf16 >/dev/null || fail "dt-merge $model --dtype bf16"
  for folder in "hf_$model 1e-4" "sharded_$model 1e-4" "half_$model 3e-2"; do
    echo "${folder% *} $model.h5 --tolerance ${folder#* }"
  done >>logits
  echo "hf_$model half_$model" >>rounding
done

made=0
while read -r options; do
  echo "made$((made += 1)) $options" >>made
done <<'END'
--family gpt2 --tied
--family gpt2 --untied
--family llama --tied --kv-heads 2
--family llama --untied
--family llama --biases --rope llama3
--family llama --rope linear
--family mistral --kv-heads 2 --window 7
--family mistral
--family qwen2 --tied --kv-heads 2 --rope llama3
--family qwen2 --window 5
END
each make_hf.py made
while read -r folder _; do
  logits "$folder" "$folder"
  echo "$folder $folder.h5 --tolerance 1e-4" >>logits
done <made

each check_hf.py logits
expect_equal "$(wc -l <stdout)" 31 "models that transformers loaded"
each check_rounding.py rounding

# Tokenizer and model load from one folder, whichever kind of file the data were made with.
make_ranks ranks
seq -f 'a document %g says ä, 中文 and so on' 1 300 >one.txt
for pattern in gpt2 llama3 qwen2 o200k; do
  dt-shard-data --quiet --tokenizer ranks --tokenizer-pattern "$pattern" --eos-token '<|endoftext|>' --val-fraction 0 --out "tokens_$pattern" one.txt >/dev/null ||
    fail "dt-shard-data --tokenizer-pattern $pattern"
  dt-train --quiet --model llama.json --data "tokens_$pattern" --run "with_$pattern" --sequence-length 32 --steps 2 >/dev/null || fail "training"
  dt-merge --quiet "$(dt-checkpoint latest "with_$pattern")" --out "folder_$pattern" >/dev/null || fail "dt-merge"
  echo "folder_$pattern one.txt tokens_$pattern/train-00000.h5" >>folders
done
each check_folder.py folders
