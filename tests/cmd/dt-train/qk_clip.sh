#!/usr/bin/env bash
# --qk-clip: bounded attention scores, in metrics.jsonl, in other layouts and after a resume.
source "$(dirname "${BASH_SOURCE[0]}")/../layouts.sh"
make_shards shards

# values RUN FIELD: prints the field of all steps, in order.
values() { sed -nE "s/.*\"kind\":\"train\",.*\"$2\":([-0-9.e]+)[,}].*/\1/p" "$1/metrics.jsonl"; }

muon=(--optimizer muon --lr 0.05 --schedule constant --warmup-steps 0)
expect_exit 0 train plain --steps 6 "${muon[@]}"
if grep -q max_attention_score plain/metrics.jsonl; then fail "scores without --qk-clip"; fi
expect_exit 0 train loose --steps 6 "${muon[@]}" --qk-clip 1e30
expect_same_model plain loose
expect_equal "$(values loose clipped_heads | sort -u)" 0 "clipped heads below the bound"
awk '{ last = $1 } END { exit !(NR == 6 && last > 0.05) }' <(values loose max_attention_score) ||
  fail "scores: $(values loose max_attention_score | xargs)"

expect_exit 0 train with --steps 6 "${muon[@]}" --qk-clip 0.05
awk '$1 > 0 { ++steps } END { exit !(steps > 0) }' <(values with clipped_heads) ||
  fail "clipped heads: $(values with clipped_heads | xargs)"
awk 'NR == FNR { bound = $1; next } { last = $1 } END { exit !(last < bound) }' \
  <(values loose max_attention_score) <(values with max_attention_score) ||
  fail "scores: $(values with max_attention_score | xargs)"

# Bits are equal in other layouts, with any recompute, and after a resume, which keeps the bound.
expect_exit 0 train piped --steps 6 "${muon[@]}" --qk-clip 0.05 --comm threads=2 --pp 2 --recompute full
expect_exit 0 train apart --steps 3 "${muon[@]}" --qk-clip 0.05
expect_exit 0 dt-train --run apart --steps 6 --threads 1 --peak-flops 1e9
for run in piped apart; do
  expect_same_model with "$run"
  expect_equal "$(values "$run" max_attention_score | tail -n 1)" "$(values with max_attention_score | tail -n 1)" "$run"
done
expect_exit 0 dt-train --run with --steps 7 --threads 1 --peak-flops 1e9 --qk-clip 0.3
expect_match stderr 'qk_clip 0.05 → 0.3'

expect_exit 0 compare threads=2 "dp=1; pp=2; dp=2,zero=1; dp=2,zero=3; tp=2; cp=2" --steps 3 "${muon[@]}" --qk-clip 0.05 \
  --micro-batch 4 --json
expect_equal "$(equal_layouts)" 4 "layouts with equal weights"

expect_exit 2 train refused --steps 4 --model qwen3-0.6b --qk-clip 100
expect_match stderr 'normalizes queries and keys'
expect_exit 2 train refused --steps 4 --qk-clip -1
expect_absent refused
