#!/usr/bin/env bash
# --compare-layouts: any layout trains the same, and the command says so.
source "$(dirname "${BASH_SOURCE[0]}")/../layouts.sh"
make_shards shards

# divided_layouts: every stage and group of four and eight ranks, with blocks computed again or not.
divided_layouts() {
  local dp stage recompute group
  for recompute in none selective full; do
    for dp in 2 4 8; do
      for stage in 0 1; do echo "dp=$dp,zero=$stage,recompute=$recompute"; done
    done
    for stage in 2 3; do
      for group in 2 4 8; do echo "dp=8,zero=$stage,zero-group=$group,recompute=$recompute"; done
    done
  done | paste -sd ';'
}

# Ranks as threads: 37 layouts with one sequence a micro-batch, eight of them; an untied and a tied model.
cat >tied.json <<'END'
{"model_type": "gpt2", "vocab_size": 300, "n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 128,
 "tie_word_embeddings": true}
END
for model in llama-tiny tied.json; do
  expect_exit 0 compare threads=8 "dp=1; $(divided_layouts)" --model "$model" --micro-batch 1 --steps 50 --json
  expect_equal "$(wc -l <stdout)" 37 "layouts"
  expect_equal "$(equal_layouts)" 37 "layouts with equal weights"
  expect_equal "$(grep -c '"promised_equal":true' stdout)" 37 "layouts of which that is promised"
done

# Several micro-batches a rank, and numbers of ranks that are no power of two: the same losses but for rounding.
for precision in fp32 fp64; do
  expect_exit 0 compare threads=6 "dp=1; dp=3; dp=5,zero=1; dp=6,zero=2; dp=2,zero=3; dp=4,zero=3; dp=4,zero=2,zero-group=2" \
    --global-batch 12 --micro-batch 1 --steps 50 --precision "$precision" --grad-lanes 4
  expect_equal "$(grep -c FAILED stdout || true)" 0 "broken promises"
  expect_equal "$(grep -c 'losses within' stdout)" 6 "promises"
done
# Stages 2 and 3 are one class of their own.
expect_exit 0 compare threads=2 "dp=2,zero=2; dp=2,zero=3; dp=2,zero=3,recompute=full; dp=2,zero=3,comm-bucket-bytes=0" --steps 50 --json
expect_equal "$(equal_layouts)" 4 "layouts of the class"

# A model whose gradients overflow fp16 at first.
cat >wild.json <<'END'
{"model_type": "llama", "vocab_size": 300, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
 "num_attention_heads": 4, "max_position_embeddings": 64, "initializer_range": 1.5}
END
train wild_run --model wild.json --quiet --steps 1 --lr 1e-9 --schedule constant >/dev/null || fail "wild.json"
ln -s wild_run/checkpoints/step-00000001.g1 wild

# Pipelines: every schedule, uneven stages, several data-parallel ranks, blocks computed again.
for model in llama-tiny tied.json; do
  expect_exit 0 compare threads=4 "dp=1; pp=2,dp=1; pp=2,schedule=gpipe; pp=4,recompute=full
    ; pp=2,schedule=interleaved,virtual-stages=2,zero=1; pp=2,schedule=zero-bubble,recompute=selective; pp=2,schedule=zero-bubble,virtual-stages=2
    ; pp=1,schedule=interleaved,virtual-stages=3,dp=4; pp=3,schedule=zero-bubble,dp=1" --model "$model" --micro-batch 1 --steps 10 --json
  expect_equal "$(equal_layouts)" 9 "pipelines with equal weights"
  expect_equal "$(grep -c '"promised_equal":true' stdout)" 9 "pipelines of which that is promised"
done
expect_exit 0 compare threads=4 "pp=2,stage-units=1+3,dp=1; pp=2,stage-units=3+1; dp=1" --micro-batch 1 --steps 10 --json
expect_equal "$(equal_layouts)" 3 "uneven stages with equal weights"
expect_exit 0 compare threads=4 "dp=2,zero=2; pp=2,dp=2,zero=3; pp=2,dp=2,zero=2,schedule=gpipe,recompute=full" --steps 10 --json
expect_equal "$(equal_layouts)" 3 "pipelines of the class"

# In 16 bits: steps that fp16 skips, gradients that are summed in 16 bits or travel in them.
expect_exit 0 compare threads=4 "dp=1; dp=4; dp=4,zero=1; dp=4,zero=3" --model wild.json --precision fp16 --global-batch 4 --micro-batch 1 \
  --steps 8 --init-from wild --json
expect_equal "$(equal_layouts)" 4 "layouts of fp16 with equal weights"
for options in "--grad-dtype bf16" "--reduce-dtype bf16"; do
  # shellcheck disable=SC2086
  expect_exit 0 compare threads=4 "dp=4,zero=1; dp=4; dp=4,zero=2; dp=4,zero=3; dp=4,zero=1,zero-group=2; dp=4,zero=3,zero-group=2; dp=2; dp=1" \
    --precision bf16 --matmul fp32 --global-batch 4 --micro-batch 1 --steps 10 --json $options
  expect_equal "$(grep -c '"promised_equal":true' stdout)" 4 "promises with $options"
done

# As processes.
for ranks in 2 4 8; do
  expect_exit 0 compare "mpi=$ranks" "dp=1; dp=$ranks; dp=$ranks,zero=1; dp=$ranks,zero=2; dp=$ranks,zero=3; dp=$ranks,zero=3,zero-group=2" \
    --micro-batch 1 --global-batch "$ranks" --steps 20 --json
  expect_equal "$(equal_layouts)" 6 "layouts of $ranks processes with equal weights"
done

# What a rank holds, by its buffers, is what the formulas say (Rajbhandari et al. 2020): 4 bytes of weights, 4 of gradients and 8 of
# moments a parameter, each divided by the ranks from the stage on that divides it.
cat >large.json <<'END'
{"model_type": "llama", "vocab_size": 2000, "hidden_size": 256, "intermediate_size": 700, "num_hidden_layers": 3,
 "num_attention_heads": 4, "max_position_embeddings": 64}
END
parameters=$(dt-train --model large.json --data shards --steps 1 --dry-run --json | sed -E 's/.*"parameters":([0-9]+).*/\1/')
expect_exit 0 compare threads=4 "dp=4; dp=4,zero=1; dp=4,zero=2; dp=4,zero=3" --model large.json --steps 2 --global-batch 4 \
  --micro-batch 1 --json
number() { sed -E "s/.*\"$2\":([0-9]+).*/\1/" <<<"$1"; }
stage=0
while read -r line; do
  for what in weights:3:4 gradients:2:4 optimizer:1:8; do
    IFS=: read -r name from bytes <<<"$what"
    awk -v held="$(number "$line" "${name}_bytes")" -v whole="$((parameters * bytes))" -v n=$((stage >= from ? 4 : 1)) \
      'BEGIN { ratio = held / (whole / n); exit !(ratio > 0.95 && ratio < 1.05) }' ||
      fail "stage $stage: $name bytes in $line"
  done
  # Gathers and sums: two passes over the parameters, and from stage 3 on one more over the blocks, which are gathered again.
  expect_equal "$(number "$line" moved_bytes)" "$(number "$line" expected_bytes)" "bytes moved in stage $stage"
  awk -v moved="$(number "$line" moved_bytes)" -v whole=$((parameters * 4)) -v stage=$stage \
    'BEGIN { passes = moved / whole; low = stage == 0 ? 0.99 : stage == 3 ? 2.5 : 1.99; exit !(passes > low && passes < (stage == 0 ? 1.01 : stage == 3 ? 3 : 2.01)) }' ||
    fail "stage $stage moves $(number "$line" moved_bytes) bytes"
  ((++stage))
done <stdout

# What cannot be is refused before any work, with what would do.
refused() {
  expect_exit 2 compare threads=4 "$1" --steps 2
  expect_match stderr "$2"
}
refused "dp=9" 'dp=9.: this layout needs 9 ranks; 4 were started; use dp of at most 4, or start 9 ranks'
refused "dp=2; dp=2,zero=4" 'zero=4 is not valid; expected a number from 0 to 3'
refused "dp=2,micro-batch=3" 'micro-batch=3 does not divide --global-batch .*; use micro-batch=2 or micro-batch=4'
refused "dp=4,zero=1,zero-group=3" 'allowed: all, node, 1, 2, 4'
refused "tp=3" "layout 'tp=3': tp=3 does not fit 4 query heads and 2 key-value heads: .*; use tp=2\$"
refused "tp=8" 'needs 8 ranks; 4 were started; use pp × cp × tp of at most 4, or start 8 ranks'
refused "tp=2,dp=3" 'needs 6 ranks; 4 were started; use dp of at most 2, or start 6 ranks'
refused "tp=2,sp=maybe" 'sp=maybe is not valid; expected on or off$'
refused "tp=2; dp=2,sp=on" 'sp=on has no effect without tp; add tp=2 or more$'
refused "tp=0" 'tp=0 is not valid; expected a number from 1'
refused "tp=2,dp=2,zero=1,zero-group=4" 'is not a divisor of the 2 data-parallel ranks; allowed: all, node, 1, 2$'
refused "rings=2" 'is not a layout'
refused "dp=1; dp=4,ep=2" "layout 'dp=4,ep=2': ep=2 divides experts among ranks, but this model has no experts\$"
refused "pp=2,dp=3" 'needs 6 ranks; 4 were started; use dp of at most 2'
refused "pp=2,schedule=none" 'schedule=none is not valid; expected one of: gpipe, 1f1b, interleaved, zero-bubble'
refused "pp=2,schedule=interleaved" "layout 'pp=2,schedule=interleaved': schedule=interleaved does not support virtual-stages=1: .*; use virtual-stages=2 or schedule=1f1b"
refused "pp=2,stage-units=2+3" ': stage-units=2\+3: .* the model has 4; use stage-units=2\+2 \(balanced by cost\)$'
refused "dp=2,dp=4" 'dp is given twice'
refused "dp=2,zero-group=2" 'zero-group has no effect without zero'
refused "dp=4,zero=1,zero-group=some" "layout 'dp=4,zero=1,zero-group=some': zero-group=some is not a divisor"
expect_exit 3 compare threads=2 "dp=1; dp=2" --steps 2 --init-from wild
refused " ; " 'lists no layout'
expect_exit 2 compare threads=2 "dp=2" --steps 2 --dry-run
expect_exit 2 compare threads=2 "dp=2" --steps 2 --save-every 1
expect_exit 3 compare threads=2 "dp=1; dp=2" --steps 9 --lr 1e30 --clip-norm 0 --schedule constant --warmup-steps 0
expect_match stderr 'step [0-9]+: loss .*, gradient norm .*: not finite \(first in the (output|gradient) of '

# The job's own layouts, of a training with a pipeline too.
mkdir fake
cat >fake/srun <<END
#!/usr/bin/env bash
exec ${launch[*]} -n "\$SLURM_NTASKS" "\${@:2}" </dev/null
END
chmod +x fake/srun
while read -r num_equal layout; do
  expect_exit 0 env PATH="$PWD/fake:$PATH" SLURM_NTASKS=4 DT_MODEL=llama-tiny DT_DATA=shards \
    DT_TRAIN_ARGS="--steps 3 --global-batch 4 --micro-batch 1 --sequence-length 32 --threads 1 $layout" \
    bash "$DT_TESTS/../jobs/prove.sbatch"
  expect_equal "$(grep -c 'equal weights$' stdout)" "$num_equal" "layouts that proved equal beside '$layout'"
  expect_equal "$(grep -c 'losses within 1e-05$' stdout)" $((6 - num_equal)) "layouts that proved near beside '$layout'"
done <<'LAYOUTS'
6
6 --pp 2 --stage-units 1,3 --pp-schedule zero-bubble
5 --cp 2 --tp 2 --sequence-parallel
LAYOUTS
