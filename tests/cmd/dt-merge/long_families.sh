#!/usr/bin/env bash
# transformers 5 loads what dt-merge writes of each family, and computes the same logits; dt-train reads what it writes.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
message=$(bash "$DT_TESTS/python/setup_venv.sh" "$DT_BUILD/python-golden" requirements-golden.txt 2>&1) ||
  skip "needs transformers 5 and its torch: $message"
python=$DT_BUILD/python-golden/bin/python
make_shards shards

# logits NAME WEIGHTS: 16 sequences of the validation split through dt.
logits() {
  dt-train --quiet --eval-only --data shards --sequence-length 32 --eval-batches 1 --init-from "$2" --logits-out "$1.h5" \
    --logits-sequences 16 >/dev/null || fail "dt-train --eval-only with $2"
}

mkdir theirs
"$python" "$DT_TESTS/golden/make_families.py" --folders theirs || fail "make_families.py"
for folder in theirs/*; do
  family=$(basename "$folder")
  logits "theirs_$family" "$folder"
  echo "$folder theirs_$family.h5 --tolerance 5e-6" >>checks
  # Trained for a while, so that all of it has moved; from a checkpoint that dt-checkpoint import made.
  expect_exit 0 dt-checkpoint import "$folder" "imported_$family"
  dt-train --quiet --init-from "imported_$family" --data shards --run "run_$family" --sequence-length 32 --steps 10 --lr 1e-3 \
    >/dev/null || fail "training $family"
  last=$(dt-checkpoint latest "run_$family")
  dt-merge --quiet "$last" --out "ours_$family" >/dev/null || fail "dt-merge $family"
  logits "ours_$family" "$last"
  echo "ours_$family ours_$family.h5 --tolerance 5e-6" >>checks
done
expect_exit 0 "$python" "$DT_TESTS/python/each.py" "$DT_TESTS/python/check_hf.py" <checks
expect_equal "$(wc -l <stdout)" "$(wc -l <checks)" "models that transformers loaded"
cat stdout
