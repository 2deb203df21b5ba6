#!/usr/bin/env bash
# --data a=0.7,b=0.3: samples come from each dataset by weight, the same at any batch and rank count, across stops and kills.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
mkdir -p a.text b.text c.text
for i in 1 2 3 4; do
  seq -f "line %g of document $i: the quick brown fox jumps over the lazy dog" 1 150 >a.text/$i.txt
  seq -f "%g: lorem ipsum dolor sit amet, consectetur adipiscing elit ($i)" 1 60 >b.text/$i.txt
  seq -f "no less than %g" 1 50 >c.text/$i.txt
done
for name in a b c; do dt-shard-data --quiet --out $name --val-fraction 0.2 $name.text >/dev/null || fail "dt-shard-data"; done
mix="a=0.5,b=0.3,c=0.2"
common=(--data "$mix" --quiet --schedule constant --warmup-steps 0)

# What it says of itself: samples of each dataset in metrics, the loss of each and of all.
train whole "${common[@]}" --steps 25 --grad-lanes 4 --eval-batches 4 >table || fail "a mixture"
expect_match whole/metrics.jsonl '"step":1,.*"samples":\{"a":4,"b":3,"c":1\}'
expect_match whole/metrics.jsonl '"step":25,.*"samples":\{"a":100,"b":60,"c":40\}'
expect_match whole/metrics.jsonl '"kind":"eval","step":25,"val_loss":[0-9.]+,"val_tokens":1024,"sources":\{"a":\{"val_loss":[0-9.]+,"val_tokens":[0-9]+\},"b":'
expect_match table 'dataset b, .* tokens'
python3 - <<'PY' || fail "val_loss is not the mean over all windows"
import json
e = [json.loads(l) for l in open("whole/metrics.jsonl") if '"eval"' in l][-1]
s = e["sources"].values()
assert sum(x["val_tokens"] for x in s) == e["val_tokens"]
assert abs(sum(x["val_loss"] * x["val_tokens"] for x in s) / e["val_tokens"] - e["val_loss"]) < 1e-12
PY
dt-train --quiet --json --eval-only --run whole --data "$mix" --sequence-length 32 --threads 1 --eval-batches 4 >evaluated || fail "--eval-only"
expect_equal "$(grep -o '"val_loss.*' evaluated)" "$(grep '"eval"' whole/metrics.jsonl | grep -o '"val_loss.*' | sed 's/,"generation":1//')"
evaluate() { dt-train --quiet --json --eval-only --run whole --sequence-length 32 --threads 1 --micro-batch 3 --data "$1"; }
evaluate "$mix" >evaluated || fail "--eval-only"
for name in a b c; do
  expect_equal "$(grep -o "\"$name\":{[^}]*}" evaluated)" "\"$name\":{$(evaluate $name | grep -o '"val_loss.*')" "the loss of $name alone"
done

# Any batch, any ranks: the same samples.
train ranks "${common[@]}" --steps 25 --eval-batches 4 --comm threads=4 >/dev/null || fail "four ranks"
expect_same_model whole ranks
expect_equal "$(grep -o '"val_loss":[0-9.]*' ranks/metrics.jsonl | head -n 1)" "$(grep -o '"val_loss":[0-9.]*' whole/metrics.jsonl | head -n 1)"
train batches "${common[@]}" --steps 10 --global-batch 8 >/dev/null || fail "batches of 8"
train batches "${common[@]}" --steps 12 --global-batch 20 --comm threads=2 >/dev/null || fail "batches of 20"
train batches "${common[@]}" --steps 28 --global-batch 5 --micro-batch 5 >/dev/null || fail "batches of 5"
for run in ranks batches; do expect_equal "$(digest_of $run)" "$(digest_of whole)" "the data of $run"; done
expect_match batches/metrics.jsonl '"step":28,.*"samples":\{"a":100,"b":60,"c":40\}'
# And the digest tells other orders.
train other --data "a=0.5,b=0.2,c=0.3" "${common[@]:2}" --steps 25 >/dev/null || fail "other weights"
[[ $(digest_of other) != "$(digest_of whole)" ]] || fail "weights change no digest"

# Killed and started again, bit for bit.
long=("${common[@]}" --steps 400 --save-every 20 --log-every 20 --grad-lanes 2)
train undisturbed "${long[@]}" >/dev/null || fail "undisturbed"
start_training killed "${long[@]}"
wait_for_step killed 40
kill -KILL "$trainer" || fail "it ended before it was killed"
wait "$trainer" 2>/dev/null || true
train killed "${long[@]}" >/dev/null || fail "going on"
expect_same_model undisturbed killed
expect_equal "$(digest_of killed)" "$(digest_of undisturbed)" "data digests"

# Another mixture is other data; the same one under other names is not.
for data in "a=0.5,b=0.2,c=0.3" "b=0.3,a=0.5,c=0.2" "a=0.5,b=0.5" a; do
  expect_exit 3 train whole "${common[@]:2}" --data "$data" --steps 26
  expect_match stderr 'the digest of --data was'
done
cp -r a moved
expect_exit 0 train whole "${common[@]:2}" --data "moved=5,b=3,c=2" --steps 26

# One dataset with a weight is that dataset.
train plain --data a --quiet --steps 5 >/dev/null || fail "plain"
train alone --data a=3 --quiet --steps 5 >/dev/null || fail "alone"
expect_same_model plain alone
if grep '"samples"\|"sources"' alone/metrics.jsonl; then fail "one dataset is told as a mixture"; fi
cp -r a x=1
expect_exit 0 train named --data x=1/ --quiet --steps 1
expect_equal "$(sed -nE 's/.*"step":1,.*"data_digest":"([^"]*)".*/\1/p' named/metrics.jsonl)" \
  "$(sed -nE 's/.*"step":1,.*"data_digest":"([^"]*)".*/\1/p' plain/metrics.jsonl)"

# dt-merge finds the tokenizer of a mixture.
dt-merge --quiet "$(dt-checkpoint latest batches)" --out hf >/dev/null || fail "dt-merge"
cmp hf/tokenizer.json a/tokenizer.json || fail "no tokenizer in the export"

# How many epochs that makes, beforehand and at the start.
expect_exit 0 train planned --data "$mix" --steps 25 --dry-run
expect_match stdout '^b +weight 3 of 10: 60 samples, [0-9.]+ epochs'
dt-train --quiet --json --model llama-tiny --sequence-length 32 --data "$mix" --steps 25 --dry-run >plan.json || fail "--dry-run --json"
expect_match plan.json '"sources":\{"a":\{"weight":5,"samples":100,"windows":[0-9]+,"epochs":[0-9.]+\}'
arguments told --data "$mix" --steps 2
expect_exit 0 dt-train "${train_args[@]}"
expect_match stderr 'b: weight 3 of 10: 5 samples, .* epochs in total'

# What cannot be.
expect_exit 2 train bad --data "$mix" --epochs 1
expect_match stderr '\-\-epochs 1.*each dataset'
expect_exit 2 train bad --data "a=1,b=0" --steps 1
expect_match stderr 'the weight of b is 0'
expect_exit 2 train bad --data "a=0.3333333,b=0.6666667" --steps 1
expect_match stderr 'round the weights'
expect_exit 3 train bad --data "a=0.5,b" --steps 1
expect_match stderr 'a=0.7,b=0.3'
python3 -c 'import base64; [print(base64.b64encode(bytes([i])).decode(), i) for i in range(256)]' >bytes.ranks
dt-shard-data --quiet --out tokens --tokenizer bytes.ranks --tokenizer-pattern gpt2 --eos-token '<|endoftext|>' --val-fraction 0.2 a.text >/dev/null || fail "dt-shard-data"
expect_exit 3 train bad --data "a=1,b=1,tokens=1" --steps 1
expect_match stderr 'a and tokens have different tokenizers'
expect_absent bad
