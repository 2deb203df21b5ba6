#!/usr/bin/env bash
# A run from start to end: the run directory, the metrics, the falling loss, what --json prints.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

expect_exit 0 train run --steps 30 --save-every 10 --eval-every 10
expect_match stdout '^ +step +loss'
expect_match stdout '^ +30 '
for path in run.json metrics.jsonl generations/0001.json checkpoints/step-00000010.g1 checkpoints/step-00000030.g1/manifest.json; do
  [[ -e run/$path ]] || fail "run/$path is missing"
done
first=$(losses run | head -n 1 | cut -d' ' -f2)
last=$(losses run | tail -n 1 | cut -d' ' -f2)
awk -v a="$first" -v b="$last" 'BEGIN {exit !(a > 5 && b < a - 1)}' || fail "the loss went from $first to $last"
expect_equal "$(grep -c '"kind":"eval"' run/metrics.jsonl)" 3
expect_equal "$(grep -c '"kind":"checkpoint"' run/metrics.jsonl)" 3
expect_match run/metrics.jsonl '"kind":"start"'
expect_match run/metrics.jsonl '"kind":"stop","reason":"finished"'

# A finished run has nothing left to do and says so.
expect_exit 0 train run --steps 30 --save-every 10 --eval-every 10
expect_equal "$(grep -c '"kind":"train"' run/metrics.jsonl)" 30

# With --json stdout carries the lines of metrics.jsonl.
expect_exit 0 train json --steps 3 --json
cmp stdout json/metrics.jsonl || fail "stdout is not metrics.jsonl"

# Every way to say how long; steps are rounded up.
expect_exit 0 train by_tokens --tokens 257
expect_equal "$(losses by_tokens | wc -l)" 2
expect_exit 0 train by_epochs --epochs 0.01
[[ $(losses by_epochs | wc -l) -ge 1 ]] || fail "no steps for --epochs 0.01"
