#!/usr/bin/env bash
# Training quality: tiny Shakespeare, 4 layers, 4 heads, 128 wide, context 64, batch 12, 2000 steps. nanoGPT's README reports a
# validation loss of 1.88 by characters. The text is not part of the project: DT_SHAKESPEARE names it.
# With $DT_GPU_TRAIN a GPU trains.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
[[ -f ${DT_SHAKESPEARE:-} ]] || skip "DT_SHAKESPEARE does not name tinyshakespeare.txt"

dt-shard-data --quiet --out shards --val-fraction 0.1 "$DT_SHAKESPEARE" >/dev/null
printf '{"model_type":"gpt2","vocab_size":257,"n_positions":64,"n_embd":128,"n_layer":4,"n_head":4}' >gpt2.json
printf '{"model_type":"llama","vocab_size":257,"max_position_embeddings":64,"hidden_size":128,"intermediate_size":344,
  "num_hidden_layers":4,"num_attention_heads":4,"tie_word_embeddings":true}' >llama.json
differences=""
# final_loss RUN
final_loss() { grep '"kind":"eval"' "$1/metrics.jsonl" | tail -n 1 | sed -nE 's/.*"val_loss":([^,]+),.*/\1/p'; }
for model in gpt2 llama; do
  for precision in fp32 bf16 fp16; do
    run=$model-$precision
    "${DT_GPU_TRAIN:-dt-train}" ${DT_GPU_TRAIN:+--device cuda} --quiet --model "$model.json" --data shards --run "$run" --global-batch 12 \
      --micro-batch 12 --steps 2000 --lr 1e-3 --min-lr 1e-4 --warmup-steps 100 --beta2 0.99 --log-every 100 --eval-every 250 --threads 1 \
      --precision "$precision" >/dev/null || fail "training $run"
    echo "$run: $(sed -nE 's/.*"kind":"eval","step":([0-9]+),"val_loss":([^,]+),.*/\1 \2/p' "$run/metrics.jsonl" | tr '\n' ';')"
    awk -v loss="$(final_loss "$run")" 'BEGIN {exit !(loss > 0 && loss < 1.92)}' || fail "validation loss of $run"
    # 16 bits cost nothing that a seed would not.
    difference=$(awk -v a="$(final_loss "$model-fp32")" -v b="$(final_loss "$run")" 'BEGIN {print b - a}')
    awk -v d="$difference" 'BEGIN {exit !(d <= 0.02 && d >= -0.02)}' || fail "$precision and fp32 of $model differ by $difference"
    differences+="$run $difference; "
  done
done
echo "beside fp32: $differences"
