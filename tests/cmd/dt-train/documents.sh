#!/usr/bin/env bash
# --mask-documents: what a token learns from, and how it is evaluated, ends at its document's beginning.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
# Documents of eleven tokens that begin with what the end repeats: only a model that sees other documents could be misled.
for i in $(seq 1 400); do printf '%s' "$(((i * 7919) % 10))abcdefgh$(((i * 7919) % 10))" >"doc$i.txt"; done
mkdir text && mv doc*.txt text
dt-shard-data --quiet --out shards --val-fraction 0.1 text >/dev/null || fail "dt-shard-data"

validation() { sed -nE 's/.*"val_loss":([^,]+),.*/\1/p' "$1/metrics.jsonl" | tail -n 1; }
options=(--quiet --steps 30 --eval-batches 4)
train plain "${options[@]}" >/dev/null || fail "plain"
train masked "${options[@]}" --mask-documents >/dev/null || fail "masked"
[[ $(validation plain) != "$(validation masked)" ]] || fail "--mask-documents changes nothing"
expect_equal "$(sed -nE 's/.*"data_digest":"([^"]*)".*/\1/p' masked/metrics.jsonl | tail -n 1)" \
  "$(sed -nE 's/.*"data_digest":"([^"]*)".*/\1/p' plain/metrics.jsonl | tail -n 1)" "the data's digest"

# Two ranks and what is computed again see the same boundaries.
train again "${options[@]}" --mask-documents --recompute full --comm threads=2 --grad-lanes 2 >/dev/null || fail "again"
train lanes "${options[@]}" --mask-documents --grad-lanes 2 >/dev/null || fail "lanes"
expect_same_model again lanes

# A mask matters in evaluation too.
evaluate() { dt-train --eval-only --quiet --json --data shards --sequence-length 32 --run masked --threads 1 "$@" | sed -nE 's/.*"val_loss":([^,]+),.*/\1/p'; }
[[ $(evaluate --no-mask-documents) != "$(evaluate)" ]] || fail "--mask-documents changes no evaluation"
