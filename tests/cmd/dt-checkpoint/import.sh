#!/usr/bin/env bash
# import makes a checkpoint of a Hugging Face folder; what is merged from it is the model that it was.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards
for family in gpt2 llama; do
  ckpt=$(make_checkpoint "run_$family" 10 model=$family) || fail "make_checkpoint"
  dt-merge --quiet "$ckpt" --out "hf_$family" || fail "dt-merge"
  echo '{"model": {}}' >"hf_$family/tokenizer.json"
  expect_exit 0 dt-checkpoint import "hf_$family" "imported_$family" --json
  expect_match stdout "^\{\"path\":\"imported_$family\",\"step\":0,\"family\":\"$family\",\"parameters\":[0-9]+,\"bytes\":[0-9]+,\"tokenizer_files\":\[\"tokenizer.json\"\]\}$"
  expect_match stderr "start a run from it with dt-train --init-from"
  expect_exit 0 dt-checkpoint verify "imported_$family"
  expect_equal "$(cat stdout)" "imported_$family: ok"
  expect_exit 0 dt-checkpoint show "imported_$family"; expect_match stdout "^step +0$"
  expect_exit 0 dt-merge --quiet "imported_$family" --out "merged_$family"
  diff -r "hf_$family" "merged_$family" || fail "the $family model changed on its way"
  # Divided anew it is the same, tokenizer and all.
  expect_exit 0 dt-checkpoint reshard "imported_$family" "wide_$family" --layout dp=2,tp=2
  expect_exit 0 dt-checkpoint verify "wide_$family"
  cmp "wide_$family/tokenizer.json" "hf_$family/tokenizer.json"
  # It has no optimizer state: a run can start from it, but cannot resume from it.
  expect_exit 3 train "on_$family" --model "hf_$family/config.json" --steps 2 --resume "imported_$family"
  expect_match stderr "imported_$family holds weights but no optimizer state.*--init-from imported_$family"
  expect_exit 3 train "on_$family" --model "hf_$family/config.json" --steps 2 --resume "imported_$family" --dry-run
  expect_match stderr "holds weights but no optimizer state"
done
dt-train --quiet --model llama-tiny --data shards --run trained --sequence-length 32 --steps 2 --eval-batches 1 >/dev/null || fail "training"
dt-merge --quiet "$(dt-checkpoint latest trained)" --out hf || fail "dt-merge"
dt-checkpoint import --quiet hf imported || fail "import"
for from in hf imported; do
  train "from_$from" --steps 3 --init-from "$from" >/dev/null || fail "--init-from $from"
done
expect_same_model from_hf from_imported

expect_exit 3 dt-checkpoint import nowhere other; expect_match stderr "nowhere is not a folder; expected a Hugging Face model"
expect_exit 3 dt-checkpoint import trained other; expect_match stderr "trained holds no config.json"
expect_exit 3 dt-checkpoint import hf trained/checkpoints/step-00000000.g9/; expect_match stderr "reserved for the checkpoints that a run writes"
# Copied among a run's checkpoints by hand, it is skipped, and never counts as damaged.
for generation in 2 9; do dt-checkpoint import --quiet hf "step-00000000.g$generation" || fail "import"; done
expect_exit 0 train trained --steps 3
rm -r trained/checkpoints/step-00000003.g2
cp -r step-00000000.g2 trained/checkpoints/
expect_exit 0 train trained --steps 3
expect_match stderr "skipping .*step-00000000.g2: .*holds weights but no optimizer state, so a run cannot resume from it.*--init-from"
expect_match stderr "resuming from .*step-00000002.g1"
if grep -q repaired stderr; then fail "what is whole is to be repaired"; fi
cp -r step-00000000.g9 trained/checkpoints/ # of a generation that nothing leads to
for _ in 1 2 3 4; do
  expect_exit 3 train trained --steps 4
  expect_match stderr "skipping .*step-00000000.g9: .*holds weights but no optimizer state"
  expect_match stderr "none of the run's 1 checkpoint can be loaded.*use --resume never to start from step 0"
done
expect_equal "$(find trained -name '*failed-loads*')" ""

expect_exit 3 dt-checkpoint import hf imported; expect_match stderr "imported already exists"
expect_exit 3 dt-checkpoint import hf trained/checkpoints/step-00000000.g9; expect_match stderr "reserved for the checkpoints that a run writes"
expect_exit 3 dt-checkpoint import nowhere new; expect_match stderr "nowhere"
expect_exit 3 dt-checkpoint import hf step-00000007.g1; expect_match stderr "step-00000000.g1"
expect_exit 2 dt-checkpoint import hf; expect_match stderr "import HF_FOLDER OUT"
truncate -s -1 hf/model.safetensors
expect_exit 3 dt-checkpoint import hf new; expect_match stderr "hf/model.safetensors"
expect_absent new step-00000007.g1
(ulimit -f 40 && expect_exit 4 dt-checkpoint import merged_gpt2 new) || exit 1
expect_match stderr "File too large"
expect_equal "$(find . -name '.*.tmp-*' | wc -l)" 0 "temporary files"
