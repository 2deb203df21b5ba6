#!/usr/bin/env bash
# The validation loss is the same whatever batch it is computed in, during training and afterwards, from checkpoint and export.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

dt-train --quiet --model llama-tiny --data shards --run run --sequence-length 32 --steps 5 --threads 1 \
  >/dev/null || fail "a run"
in_run=$(sed -nE 's/.*"kind":"eval".*"val_loss":([^,]+).*/\1/p' run/metrics.jsonl)
value() { dt-train --quiet --json --eval-only --data shards --sequence-length 32 --threads 1 "$@" | sed -nE 's/.*"val_loss":([^,]+).*/\1/p'; }
expect_equal "$(value --run run)" "$in_run"
close() { awk -v a="$1" -v b="$2" 'BEGIN {d = a - b; exit !(a > 0 && d < 1e-6 && d > -1e-6)}' || fail "$1 is not close to $2"; }
close "$(value --run run --micro-batch 7)" "$in_run"
close "$(value --run run --precision fp64)" "$in_run"
last=$(dt-checkpoint latest run)
expect_equal "$(value --init-from "$last")" "$in_run"
dt-merge --quiet "$last" --out hf >/dev/null || fail "dt-merge"
expect_equal "$(value --init-from hf)" "$in_run"

expect_exit 0 dt-train --quiet --eval-only --data shards --sequence-length 32 --init-from hf --logits-out logits.h5 --logits-sequences 3
h5dump -H logits.h5 >header || fail "h5dump"
expect_match header '3, 32, 320'
expect_match header '3, 32 \)'

expect_exit 2 dt-train --eval-only --data shards
expect_match stderr "no weights"
expect_exit 2 dt-train --data shards --run x --steps 1 --logits-out y.h5
expect_match stderr "eval-only"
expect_exit 3 dt-train --eval-only --data shards --sequence-length 32 --init-from hf --logits-out l.h5 --logits-sequences 1000000
expect_match stderr "1000000"
expect_absent l.h5
expect_exit 3 dt-train --eval-only --model gpt2-124m --data shards --sequence-length 32 --init-from hf
expect_match stderr "--model differs from the model"
dt-shard-data --quiet --out no_val --val-fraction 0 text >/dev/null || fail "dt-shard-data"
expect_exit 3 dt-train --eval-only --data no_val --sequence-length 32 --init-from hf
expect_match stderr "val-fraction"
