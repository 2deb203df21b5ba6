#!/usr/bin/env bash
# --compare-layouts where ranks share layers: whatever is cut among them trains the same, and at equal cuts bit for bit.
source "$(dirname "${BASH_SOURCE[0]}")/../layouts.sh"
make_shards shards

# Vocabularies and MLPs that ranks do not divide evenly; key-value heads fewer than ranks; biases, learned positions; tables shared or
# not. Large enough that ZeRO has blocks to divide (4096 elements) of what eight ranks cut.
llama() { # FAMILY HEADS KEY_VALUE_HEADS TIED
  echo '{"model_type":"'"$1"'","vocab_size":257,"hidden_size":64,"intermediate_size":178,"num_hidden_layers":2,"num_attention_heads":'"$2"',
    "num_key_value_heads":'"$3"',"max_position_embeddings":64,"tie_word_embeddings":'"$4"'}'
}
gpt2() { # TIED
  echo '{"model_type":"gpt2","vocab_size":259,"n_embd":64,"n_inner":179,"n_layer":2,"n_head":8,"n_positions":64,"tie_word_embeddings":'"$1"'}'
}
llama llama 8 4 false >grouped.json
llama qwen2 8 2 true >few.json
llama llama 8 1 true >single.json
gpt2 true >tied.json
gpt2 false >untied.json
small=(--sequence-length 16 --global-batch 4 --micro-batch 1 --json)

# holds NUMBER WHAT: of the last comparison, so many layouts, none of which breaks a promise or moves other bytes than its lists say.
holds() {
  expect_equal "$(grep -c '"holds":true' stdout)" "$1" "$2"
  awk '{ match($0, /"moved_bytes":[0-9]+/); moved = substr($0, RSTART + 14, RLENGTH - 14)
         match($0, /"expected_bytes":[0-9]+/); exit_code += moved != substr($0, RSTART + 17, RLENGTH - 17) || (NR > 1) != (moved > 0) }
       END { exit exit_code }' stdout || fail "bytes moved: $2"
}
# promises BOUND NUMBER: so many of the last comparison's layouts are promised losses within a bound.
promises() { expect_equal "$(grep -c "\"promised_loss_difference\":$1" stdout)" "$2" "promises of $1"; }

# with_and_without: rows divided, too.
with_and_without() { while read -r layout; do printf '%s; %s,sp=on; ' "$layout" "$layout"; done; }

# Forty ways to lay eight ranks, against one of them alone.
all=$(with_and_without <<'LAYOUTS'
tp=2,dp=1
tp=2,dp=3
tp=2,dp=4,zero=1
tp=2,dp=2,zero=3,recompute=full
tp=2,dp=4,zero=2,zero-group=2
tp=2,pp=4,dp=1,recompute=full
tp=2,pp=3,dp=1,schedule=gpipe
tp=2,pp=2,dp=2,zero=1,recompute=selective
tp=2,pp=2,dp=2,zero=3
tp=2,pp=2,dp=1,schedule=zero-bubble,virtual-stages=2
tp=2,pp=2,dp=2,schedule=interleaved,virtual-stages=2
tp=4,dp=1
tp=4,dp=2,zero=1
tp=4,dp=2,zero=2,recompute=selective
tp=4,dp=2,zero=3
tp=4,pp=2,dp=1,recompute=full
tp=4,pp=2,dp=1,schedule=zero-bubble
tp=8,dp=1
tp=8,dp=1,recompute=selective
tp=8,dp=1,micro-batch=2
LAYOUTS
)
expect_exit 0 compare threads=8 "dp=1; $all" --model grouped.json --steps 50 "${small[@]}"
holds 41 "layouts of eight ranks"
promises 1e-05 41
expect_equal "$(grep -c '"promised_equal":true' stdout)" 1 "layouts with the reference's bits"

# Every family, in fp64 too.
some="dp=1; $(with_and_without <<'LAYOUTS'
tp=2,dp=2,zero=1
tp=4,dp=1,recompute=selective
tp=2,pp=2,dp=1,recompute=full
tp=8,dp=1
LAYOUTS
) tp=4,pp=2,dp=1,sp=on,schedule=zero-bubble; tp=4,dp=2,zero=3"
for model in few single tied untied; do
  expect_exit 0 compare threads=8 "$some" --model "$model.json" --steps 50 --precision fp64 "${small[@]/16/8}"
  holds 11 "layouts of $model in fp64"
  promises 1e-10 11
done
for model in few tied; do
  expect_exit 0 compare threads=8 "dp=1; tp=4,dp=2,zero=1,sp=on; tp=8,dp=1; tp=2,pp=2,dp=2" --model "$model.json" --steps 50 "${small[@]}"
  holds 4 "layouts of $model in fp32"
done
# Norms of queries and keys: of each head, by weights that all heads share, or over the heads of all ranks.
for family in qwen3 olmo2; do
  llama $family 8 2 false | sed 's/"model_type"/"head_dim":8,&/' >normalised.json
  expect_exit 0 compare threads=8 "dp=1; tp=2,dp=2,zero=1; tp=4,dp=1,recompute=full; tp=4,pp=2,dp=1,sp=on,recompute=selective; tp=8,dp=1,sp=on
    ; tp=2,cp=2,dp=2,sp=on" --model normalised.json --steps 20 --precision fp64 "${small[@]/16/8}"
  holds 6 "layouts of $family"
  promises 1e-10 6
done
# Sixteen ranks.
expect_exit 0 compare threads=16 "dp=1; pp=2,tp=4,dp=2,zero=1; pp=2,tp=2,dp=4,sp=on,zero=3,recompute=full; pp=4,tp=4,sp=on; pp=4,tp=2,dp=2,schedule=zero-bubble
  ; tp=8,dp=2,sp=on,zero=2; pp=2,tp=8" --model few.json --steps 10 --precision fp64 "${small[@]}"
holds 7 "layouts of sixteen ranks"

# At equal cuts equal bits: whatever the pipeline, its schedule, ZeRO 0 and 1, what is computed again, and a power of two of data-parallel ranks.
same_bits() { # KIND MODEL CUT: of eight ranks
  local cut=$3 kind=$1
  expect_exit 0 compare "$kind" "$cut,dp=1; $cut,dp=2; $cut,dp=2,zero=1,recompute=full; $cut,pp=2,dp=1,recompute=selective
    ; $cut,pp=2,dp=1,schedule=zero-bubble,virtual-stages=2; $cut,dp=2,comm-bucket-bytes=0" --model "$2" --steps 20 --grad-lanes 4 "${small[@]}"
  expect_equal "$(equal_layouts)" 6 "layouts of $2 with $cut with equal weights"
  expect_equal "$(grep -c '"promised_equal":true' stdout)" 6 "layouts of which that is promised"
}
same_bits threads=8 grouped.json tp=2
same_bits threads=8 tied.json tp=4,sp=on
same_bits mpi=8 few.json tp=4
expect_exit 0 compare threads=8 "tp=2,sp=on,dp=4; tp=2,sp=on,pp=4,dp=1; tp=2,sp=on,pp=2,dp=2,zero=1; tp=2,dp=4; tp=4,sp=on,dp=2" \
  --model untied.json --steps 20 "${small[@]}"
expect_equal "$(grep -c '"promised_equal":true' stdout)" 3 "layouts with other cuts, of which equal bits are not promised"
expect_equal "$(equal_layouts)" 3 "equal weights"
expect_exit 0 compare threads=8 "tp=2,dp=2,zero=2; tp=2,dp=2,zero=3; tp=2,pp=2,dp=2,zero=3,recompute=full; tp=2,dp=2,zero=2,comm-bucket-bytes=0" \
  --model few.json --steps 20 "${small[@]}"
expect_equal "$(equal_layouts)" 4 "layouts of the class of ZeRO 2 and 3"
expect_exit 0 compare threads=4 "tp=2,dp=1; tp=2,dp=2; tp=2,pp=2,dp=1,recompute=full; tp=4,dp=1; dp=1" --model few.json --steps 20 \
  --precision bf16 --matmul fp32 "${small[@]}"
expect_equal "$(equal_layouts)" 3 "layouts in bf16"

# What ranks that share layers hold and move, by hand: of the weights their part but for norms, of a step's 64 rows of 64 features, in each
# block, four sums (forward and backward, of attention and MLP). Divided rows are gathered, too: before each product, forward and
# backward, and once more for the gradients of the weights; the gradients of the norms, of which each has a part, are summed.
number() { sed -E "s/.*\"$1\":([0-9]+).*/\1/" stdout; }
parameters=$(dt-train --model grouped.json --data shards --steps 1 --dry-run --json | sed -E 's/.*"parameters":([0-9]+).*/\1/')
sed 's/"num_hidden_layers":2/"num_hidden_layers":3/' grouped.json >more.json
rows=$((64 * 64 * 4))
while read -r layout ranks block; do
  expect_exit 0 compare threads=4 "$layout,dp=1" --model more.json --steps 1 "${small[@]}"
  more=$(number moved_bytes)
  expect_exit 0 compare threads=4 "$layout,dp=1" --model grouped.json --steps 1 "${small[@]}"
  expect_equal $((more - $(number moved_bytes))) "$block" "bytes that a block of $layout moves"
  awk -v held="$(number weights_bytes)" -v whole=$((parameters * 4)) -v ranks="$ranks" \
    'BEGIN { ratio = held * ranks / whole; exit !(ratio >= 1 && ratio < 1.05) }' || fail "weights of $layout: $(cat stdout)"
done <<END
tp=2 2 $((4 * rows))
tp=4 4 $((4 * rows))
tp=4,sp=on 4 $((10 * rows + 2 * 64 * 4))
END
