#!/usr/bin/env bash
# What a model learned from ends where it learned that texts do: transformers' generate() stops, whichever preset, family, tokenizer or weights.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python" 2>&1) || skip "needs torch and transformers: $message"
python=$DT_BUILD/python/bin/python
make_ranks ranks
for _ in $(seq 400); do echo 'say doc'; done >says.txt
dt-shard-data --quiet --document-separator '\n' --val-fraction 0.2 --out says says.txt >/dev/null || fail "dt-shard-data"
dt-shard-data --quiet --document-separator '\n' --val-fraction 0 --tokenizer ranks --tokenizer-pattern qwen2 --eos-token '<|endoftext|>' \
  --out says_of_ranks says.txt >/dev/null || fail "dt-shard-data --tokenizer"
tiny='"vocab_size":300,"tie_word_embeddings":true'
echo "{\"model_type\":\"gpt2\",$tiny,\"n_embd\":48,\"n_layer\":2,\"n_head\":3,\"n_positions\":64}" >gpt2.json
for family in llama mistral qwen2; do
  echo "{\"model_type\":\"$family\",$tiny,\"hidden_size\":48,\"intermediate_size\":100,\"num_hidden_layers\":2,\"num_attention_heads\":4," \
    "\"max_position_embeddings\":64}" >$family.json
done
learn() { # RUN DATA MODEL [options]
  dt-train --quiet --run "$1" --data "$2" --model "$3" --sequence-length 16 --steps 40 --lr 1e-2 --schedule constant "${@:4}" >/dev/null ||
    fail "training $3"
  dt-merge --quiet "$(dt-checkpoint latest "$1")" --out "$1/hf" >/dev/null || fail "dt-merge $1"
}
stops() { expect_exit 0 "$python" "$DT_TESTS/python/check_stops.py" "$@"; echo "$1: $(cat stdout)"; }
for model in llama-tiny gpt2.json llama.json mistral.json qwen2.json; do
  learn "says_$model" says "$model"
  stops "says_$model/hf" 256 115 97 121
done
eos=$(sed -n 's/.*"eos": \([0-9]*\).*/\1/p' says_of_ranks/dataset.json | head -1)
sed 's/{/{"eos_token_id":5,"pad_token_id":7,/' llama.json >other_eos.json
expect_exit 0 learn says_other says_of_ranks other_eos.json
expect_match stderr "eos_token_id was 5 and is now $eos"
expect_match says_other/hf/config.json '"pad_token_id": 7'
stops says_other/hf "$eos" 115 97 121
# From a folder that ends texts with several tokens of its own: they are kept beside the data's, and sampling's settings with them.
cp -r says_other/hf several
rm several/tokenizer_config.json
echo '{"eos_token_id": [5, 6], "pad_token_id": 7, "temperature": 0.5}' >several/generation_config.json
echo '{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "!"}' >several/tokenizer_config.json
expect_exit 0 dt-train --run says_several --data says_of_ranks --init-from several --sequence-length 16 --steps 1 --lr 1e-5
expect_match stderr "eos_token_id was 5, 6 and is now $eos, 5, 6"
expect_match stderr "tokenizer_config.json changes from ! to"
dt-merge --quiet "$(dt-checkpoint latest says_several)" --out kept >/dev/null || fail "dt-merge"
expect_match kept/generation_config.json "temperature"
stops kept "$eos" 115 97 121

# transformers 5 writes layer_types; and a head of its own where tying is asked for, which it keeps and transformers 4 drops.
"$python" "$DT_TESTS/python/make_hf.py" made5 --family qwen2 --untied || fail "make_hf.py"
sed -i -e 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' -e 's/"use_sliding_window": false/"use_sliding_window": true/' \
  -e 's/"hidden_act": "silu"/"hidden_act": "swish", "layer_types": ["full_attention", "full_attention", "full_attention"]/' made5/config.json
sed -i 's/"sliding_window": null/"sliding_window": 4096/' made5/config.json
grep -q layer_types made5/config.json || fail "no layer_types"
dt-train --quiet --eval-only --data says --sequence-length 16 --eval-batches 1 --init-from made5 --logits-out made5.h5 \
  --logits-sequences 4 >/dev/null || fail "dt-train --eval-only"
dt-checkpoint import made5 imported5 2>stderr || fail "dt-checkpoint import"
expect_match stderr "lm_head.weight and model.embed_tokens.weight hold different values"
dt-merge --quiet imported5 --out merged5 >/dev/null || fail "dt-merge"
expect_match merged5/config.json '"tie_word_embeddings": false'
expect_exit 0 "$python" "$DT_TESTS/python/check_hf.py" merged5 made5.h5 --tolerance 1e-4
