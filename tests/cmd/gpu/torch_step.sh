#!/usr/bin/env bash
# PyTorch's side of gpu-check.sh takes the models that it writes, and those that leave out what a config.json may.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
/usr/bin/python3 -c 'import torch' 2>/dev/null || skip "needs python3-torch"
eval "$(sed -n '/^write_models() {/,/^}/p' "$DT_TESTS/gpu/gpu-check.sh")"
write_models
echo '{"model_type":"gpt2","vocab_size":300,"n_embd":32,"n_layer":1,"n_head":4,"n_ctx":64,"tie_word_embeddings":false}' >older.json
echo '{"model_type":"llama","vocab_size":300,"hidden_size":32,"intermediate_size":64,"num_hidden_layers":1,"num_attention_heads":4,
  "max_position_embeddings":64,"rms_norm_eps":null,"rope_parameters":{"rope_type":"default","rope_theta":500000.0}}' >newer.json
expect_exit 0 /usr/bin/python3 -B "$DT_TESTS/python/check_torch_step.py" "$DT_TESTS/bench/table" gpt2-124m.json llama-1b.json older.json newer.json
expect_match stdout '^llama-1b.json ok'
