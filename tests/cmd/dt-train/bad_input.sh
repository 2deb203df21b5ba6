#!/usr/bin/env bash
# Wrong options and inputs: the documented exit code, and a message that names the thing.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

usage=(--steps 2)
expect_exit 2 train run --stepz 2
expect_match stderr "stepz"
expect_exit 2 train run
expect_match stderr "--steps"
expect_exit 2 train run --steps 2 --tokens 5
expect_match stderr "one of"
expect_exit 2 train run --steps 0
expect_match stderr "steps"
expect_exit 2 train run --steps many
expect_match stderr "many"
expect_exit 2 train run "${usage[@]}" --schedule cosin
expect_match stderr "did you mean 'cosine'\? .*wsd"
expect_exit 2 train run "${usage[@]}" --lr -1
expect_match stderr "lr"
expect_exit 2 dt-train --model llama-tiny --data shards --steps 2
expect_match stderr "--run"
expect_exit 2 train '' --steps 2
expect_match stderr "--run is empty"
expect_exit 2 train '' --steps 2 --show-schedule
expect_exit 2 dt-train --eval-only --data shards --run ''
expect_match stderr "--run is empty"
expect_exit 2 dt-train --model llama-tiny --run run --steps 2
expect_match stderr "--data"
expect_exit 2 dt-train --data shards --run run --steps 2
expect_match stderr "--model"
expect_exit 2 train run --steps 2 --global-batch 9
expect_match stderr "global-batch 9"
expect_exit 3 dt-train --model no-such-model --data shards --run run --steps 2
expect_match stderr "gpt2-124m"
expect_exit 3 dt-train --model GPT2 --data shards --run run --steps 2
expect_match stderr "did you mean 'gpt2-124m'\?"

# Other trainers' names lead to dt-train's.
while read -r theirs ours; do
  expect_exit 2 dt-train --data shards "--$theirs" 8
  expect_match stderr "unknown option '--$theirs'; did you mean '--$ours'"
done <<'END'
batch-size global-batch' or '--micro-batch
seq-len sequence-length
learning-rate lr
max_steps steps
gradient-checkpointing recompute
warmup warmup-steps
END
expect_exit 2 dt-train --nproc_per_node 8; expect_match stderr "the launcher sets the number of ranks"
expect_exit 0 dt-train --model llama-tiny --data shards --run run --steps 3 --dry-run --steps 2
expect_match stderr "warning: option '--steps' is given twice; the last one, '2', is used"
expect_exit 4 dt-train --model llama-tiny --data shards --steps 2 --show-schedule --svg none/s.svg
expect_match stderr "none/s.svg.*does not exist"
expect_exit 4 dt-train --eval-only --data shards --init-from x --logits-out none/l.h5
expect_match stderr "none/l.h5.*does not exist"
expect_absent none

# Text in place of a dataset.
for text in "$case_dir/text" "$case_dir"; do
  expect_exit 3 train run "${usage[@]}" --data "$text"
  expect_match stderr "dt-shard-data --out DIR "
done
expect_exit 3 train run "${usage[@]}" --data nowhere
expect_match stderr "nowhere"
expect_exit 3 dt-train --model llama-tiny --data shards --run run --steps 2 --sequence-length 257
expect_match stderr "256 positions"
expect_exit 3 train run "${usage[@]}" --init-from nowhere
expect_match stderr "nowhere"
expect_exit 3 train run "${usage[@]}" --resume nowhere
expect_match stderr "nowhere"

expect_exit 2 train run "${usage[@]}" --keep-every 5
expect_match stderr "keep-last"
expect_exit 2 train run "${usage[@]}" --decay-steps 5
expect_match stderr "wsd"
expect_exit 2 dt-train --eval-only --data shards --init-from x --lr 1e-3
expect_match stderr "eval-only"
expect_exit 2 train run --tokens 9000P
expect_exit 2 train run --epochs 1e30
expect_exit 2 train run --steps 1000000000000 --global-batch 16Mi --micro-batch 16Mi --sequence-length 256
dt-shard-data --quiet --out no_val --val-fraction 0 "$case_dir/text" >/dev/null
expect_exit 3 train run "${usage[@]}" --data no_val --eval-every 1
expect_match stderr "validation window"

# Ranks divide the shards that they look at before they train: whichever is broken is told then.
dt-shard-data --quiet --out parts --val-fraction 0.2 --shard-tokens 12Ki "$case_dir/text" >/dev/null
[[ $(find parts -name '*.h5' | wc -l) -gt 4 ]] || fail "shards: $(ls parts)"
for shard in parts/*.h5; do
  mv "$shard" whole
  head -c 1000 whole >"$shard"
  expect_exit 3 train broken "${usage[@]}" --data parts --comm threads=3
  expect_match stderr "$shard"
  expect_absent broken
  mv whole "$shard"
done

# Pipelines that cannot be.
pipeline() { # RANKS OPTIONS REGEX: of 4 units, embedding, two blocks, head
  # shellcheck disable=SC2086
  expect_exit 2 train run "${usage[@]}" --comm "threads=$1" $2
  expect_match stderr "$3"
}
pipeline 5 "--pp 5" '--pp 5 needs at least 5 units; the model has 4 .*; use at most --pp 4'
pipeline 2 "--pp 3" 'this layout needs 3 ranks \(pp 3\); 2 were started; use --pp 2, or start 3 ranks'
pipeline 2 "--pp 2 --virtual-stages 2" '--pp-schedule 1f1b does not support --virtual-stages 2: it needs 1 stage per rank; use --pp-schedule interleaved or --virtual-stages 1'
pipeline 2 "--pp 2 --pp-schedule interleaved" 'use --virtual-stages 2 or --pp-schedule 1f1b'
pipeline 2 "--pp 2 --pp-schedule interleaved --virtual-stages 3" 'needs at least 6 units; the model has 4 .*; use --pp 1 or --virtual-stages 2'
pipeline 2 "--pp 2 --pp-schedule zero-bubble --virtual-stages 3" 'use --virtual-stages 2'
pipeline 2 "--pp 2 --stage-units 2,3" '--stage-units 2,3: the stages have 5 units in total; the model has 4; use --stage-units 2,2 \(balanced by cost\)'
pipeline 2 "--pp 2 --stage-units 4,0" "'0' is not a number of units; expected 1 to 4; use --stage-units 2,2"
pipeline 2 "--pp 2 --stage-units 2,1,1" '3 numbers given for 2 stages'
pipeline 1 "--stage-units 4" 'a single stage holds all units'
pipeline 2 "--pp 2 --pp-schedule dualpipe" 'gpipe'
pipeline 2 "--pp 0" 'pp'

# Layers that cannot be cut, and what goes with cutting them.
heads() { # QUERY KEY_VALUE [MLP]
  echo '{"model_type":"llama","vocab_size":257,"hidden_size":96,"intermediate_size":'"${3:-64}"',"num_hidden_layers":2,"num_attention_heads":'"$1"',
    "num_key_value_heads":'"$2"',"max_position_embeddings":64}'
}
heads 12 3 >three.json
heads 12 6 >six.json
heads 12 6 2 >narrow.json
cut() { # RANKS MODEL OPTIONS REGEX
  # shellcheck disable=SC2086
  expect_exit 2 train run "${usage[@]}" --comm "threads=$1" --model "$2" $3
  expect_match stderr "$4"
}
divide='tp must divide the query heads, and divide the key-value heads or be a multiple of them'
cut 5 six.json "--tp 5" "--tp 5 does not fit 12 query heads and 6 key-value heads: $divide; use --tp 3\$"
cut 4 six.json "--tp 4" "12 query heads and 6 key-value heads: $divide; use --tp 3\$"
cut 2 three.json "--tp 2" "12 query heads and 3 key-value heads: $divide; use --tp 1\$"
cut 24 six.json "--tp 24 --dry-run" "$divide; use --tp 12\$"
cut 16 three.json "--tp 8 --sequence-parallel --pp 2" "--tp 8 .*; use --pp 1 --pp-schedule 1f1b --virtual-stages 1 --cp 1 --tp 1 --no-sequence-parallel\$"
cut 3 narrow.json "--tp 3" '--tp 3 is too large for 2 MLP features and a vocabulary of 257: each rank needs at least one of each; use --tp 2$'
cut 2 six.json "--tp 2 --sequence-parallel --sequence-length 33" \
  '--sequence-parallel needs --tp 2 to divide sequences of 33 tokens; use --tp 1 --no-sequence-parallel, --sequence-length 32, --sequence-length 34 or --no-sequence-parallel$'
cut 6 six.json "--tp 6 --sequence-parallel --sequence-length 64" 'to divide sequences of 64 tokens; use --tp 2, --sequence-length 60 or --no-sequence-parallel$'
cut 1 six.json "--tp 2" 'this layout needs 2 ranks \(tp 2\); 1 was started; use --tp 1, or start 2 ranks$'
cut 5 six.json "--tp 6" 'this layout needs 6 ranks \(tp 6\); 5 were started; use --tp 3, or start 6 ranks$'
cut 3 six.json "--tp 2 --pp 2" 'this layout needs 4 ranks \(tp 2 × pp 2\); 3 were started; use --tp 2 --pp 1, or start 4 ranks$'
cut 7 six.json "--tp 2 --pp 4" 'this layout needs 8 ranks \(tp 2 × pp 4\); 7 were started; use --tp 2 --pp 3, or start 8 ranks$'
cut 4 six.json "--tp 2 --zero 1 --zero-group 4" 'is not a divisor of the 2 data-parallel ranks; allowed: all, node, 1, 2$'
cut 4 six.json "--cp 4 --sequence-length 36" '--cp 4 does not divide sequences of 36 tokens into 8 equal chunks, two for each rank; use --cp 3, --sequence-length 32 or --sequence-length 40$'
cut 12 six.json "--cp 4 --tp 3 --sequence-parallel --sequence-length 31" \
  '--cp 4 does not divide sequences of 31 tokens into 8 equal chunks, two for each rank; use --sequence-length 24 or --sequence-length 48$'
cut 6 six.json "--cp 2 --tp 3 --sequence-parallel --sequence-length 32" \
  'needs --tp 3 to divide the 16 tokens of each rank \(sequence length 32, --cp 2\); use --tp 2, --sequence-length 24, --sequence-length 36 or --no-sequence-parallel$'
cut 3 six.json "--cp 4" 'this layout needs 4 ranks \(cp 4\); 3 were started; use --cp 2, or start 4 ranks$'
cut 2 six.json "--cp 0" "invalid value '0' for option '--cp'"
cut 2 six.json "--sequence-parallel" '--sequence-parallel needs --tp 2 or more$'
cut 2 six.json "--tp-overlap-chunks 2" '--tp-overlap-chunks needs --tp 2 or more$'
cut 2 six.json "--tp 0" "invalid value '0' for option '--tp'"
cut 2 six.json "--tp 2 --placement here" 'hosts, launcher'
expect_absent run

config() { printf '{"model_type":"%s","vocab_size":%s,"hidden_size":32,"intermediate_size":64,"num_hidden_layers":1,"num_attention_heads":%s,"num_key_value_heads":%s,"max_position_embeddings":64}' "$@"; }
config llama 100 4 2 >small.json
expect_exit 3 dt-train --model small.json --data shards --run run --steps 2
expect_match stderr "vocabulary"
config llama 300 5 2 >heads.json
expect_exit 3 dt-train --model heads.json --data shards --run run --steps 2
expect_match stderr "heads"
config mamba 300 4 2 >family.json
expect_exit 3 dt-train --model family.json --data shards --run run --steps 2
expect_match stderr "mamba"
printf '{\n"model_type": "llama",\n oops}' >json.json
expect_exit 3 dt-train --model json.json --data shards --run run --steps 2
expect_match stderr "json.json: line 3 is not valid JSON"
expect_absent run

# More than any host holds.
printf '{"model_type":"llama","vocab_size":300,"hidden_size":65536,"intermediate_size":262144,"num_hidden_layers":99,"num_attention_heads":512,"max_position_embeddings":64}' >vast.json
expect_exit 2 dt-train --model vast.json --data shards --run run --steps 2 --comm threads=2 --pp 2
expect_match stderr 'pp=2,dp=1,tp=1,zero=0: weights, gradients and optimizer state of 2 ranks need .* TiB on one host'
expect_match stderr 'no layout of these ranks fits'
expect_exit 2 dt-train --model vast.json --data shards --steps 2 --compare-layouts "dp=1"
expect_match stderr "layout 'dp=1': pp=1,dp=1,.* need .* TiB"
expect_absent run

# A corrupt shard is found when it is read.
cp -r shards corrupt
size=$(stat -c %s corrupt/train-00000.h5)
printf '\xff' | dd of=corrupt/train-00000.h5 bs=1 seek=$((size / 2)) conv=notrunc status=none
expect_exit 3 train run --data corrupt "${usage[@]}"
expect_match stderr "train-00000.h5"
truncate -s $((size / 2)) corrupt/train-00000.h5
expect_exit 3 train run --data corrupt "${usage[@]}"
expect_match stderr "train-00000.h5"
rm -rf run

# What may not change on resume.
train run --steps 4 --save-every 2 >/dev/null || fail "a run to resume"
expect_exit 3 train run --steps 6 --seed 1
expect_match stderr "seed"
expect_exit 3 train run --steps 6 --sequence-length 16
expect_match stderr "sequence-length"
expect_exit 3 train run --steps 6 --model gpt2-124m
expect_match stderr "family"
dt-shard-data --quiet --out other --val-fraction 0.2 --seed 5 "$case_dir/text" >/dev/null
expect_exit 3 train run --steps 6 --data other
expect_match stderr "digest"
# Others take effect and are recorded.
expect_exit 0 train run --steps 6 --global-batch 16 --lr 2e-3
expect_match stderr "global-batch: 8 → 16"
expect_match run/run.json '"option": "lr"'
# Another version's run.json is refused before anything is claimed.
cp run/run.json kept.json
sed -i 's/^  "version": 1,$/  "version": 2,/' run/run.json
claimed=$(ls run/generations)
expect_exit 3 train run --steps 8 --global-batch 16 --lr 2e-3
expect_match stderr 'run/run.json has version 2; this dt reads version 1; use the dt version that wrote it'
expect_equal "$(ls run/generations)" "$claimed" "claims"
mv kept.json run/run.json

# A corrupt checkpoint is skipped with a warning. If none is left, the run does not start from step 0.
last=$(dt-checkpoint latest run)
file=("$last"/*.h5)
printf '\xff\xff\xff\xff' | dd of="${file[0]}" bs=1 seek=$(($(stat -c %s "${file[0]}") / 2)) conv=notrunc status=none
expect_exit 0 train run --steps 8
expect_match stderr "skipping .*$(basename "$last")"
for file in run/checkpoints/*/manifest.json; do echo '{}' >"$file"; done
expect_exit 3 train run --steps 10
expect_match stderr "none of the run's"

# Output that cannot be written: a full stdout costs nothing but the exit code.
code=0
train full --steps 5 --json >/dev/full 2>stderr || code=$?
expect_equal "$code" 4 "exit with a full stdout"
expect_match stderr "standard output"
[[ -n $(dt-checkpoint latest full) ]] || fail "no checkpoint was saved when stdout was full"

# A learning rate that explodes.
expect_exit 3 train boom --steps 50 --lr 1e30 --clip-norm 0 --warmup-steps 0
expect_match stderr "gradient norm .*: not finite"
