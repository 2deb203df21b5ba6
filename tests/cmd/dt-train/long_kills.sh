#!/usr/bin/env bash
# A hundred SIGKILLs at random moments, many of them while a checkpoint is written: the run ends as if undisturbed.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

common=(--quiet --steps 12000 --save-every 3 --keep-last 4 --grad-lanes 2 --log-every 100)
train whole "${common[@]}" >/dev/null || fail "undisturbed run"
kills=0
while ((kills < 100)); do
  start_training killed "${common[@]}"
  sleep "0.$((RANDOM % 900 + 100))"
  kill -KILL "$trainer" 2>/dev/null || break
  wait "$trainer" 2>/dev/null || true
  kills=$((kills + 1))
  last=$(dt-checkpoint latest killed 2>/dev/null) || continue
  dt-checkpoint verify --quiet "$last" >/dev/null || fail "$last does not verify after kill $kills"
done
expect_exit 0 train killed "${common[@]}"
expect_same_model whole killed
echo "$kills kills, $(find killed/generations -name "*.json" | wc -l) generations"
