#!/usr/bin/env bash
# --z-loss: a loss of its own in metrics.jsonl, which a resume keeps, beside a loss without it.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

# values RUN FIELD: of all steps, in order.
values() { sed -nE "s/.*\"kind\":\"train\",.*\"$2\":([-0-9.e]+)[,}].*/\1/p" "$1/metrics.jsonl"; }

steady=(--schedule constant --warmup-steps 0)
expect_exit 0 train plain --steps 4 "${steady[@]}"
expect_exit 0 train with --steps 4 "${steady[@]}" --z-loss 0.1
if grep -q z_loss plain/metrics.jsonl; then fail "z-loss without --z-loss"; fi
expect_equal "$(values with z_loss | wc -l)" 4 "steps with z-loss"
expect_equal "$(values with loss | head -n 1)" "$(values plain loss | head -n 1)" "the loss before the first update"
[[ $(values with loss | tail -n 1) != "$(values plain loss | tail -n 1)" ]] || fail "--z-loss changes no later loss"
# Logits are small at first: log Σ e^logit is near log(vocabulary), and z-loss lowers it.
awk 'NR == 1 { first = $1 } END { exit !(first > 20 && first < 40 && $1 < first) }' <(values with z_loss) ||
  fail "z-loss: $(values with z_loss | xargs)"

# A resume keeps the coefficient, in another layout too; a change is told.
expect_exit 0 train apart --steps 2 "${steady[@]}" --z-loss 0.1
expect_exit 0 dt-train --run apart --steps 4 --threads 1 --peak-flops 1e9
expect_equal "$(values apart z_loss | tail -n 2)" "$(values with z_loss | tail -n 2)" "z-loss after a resume"
expect_exit 0 dt-train --run apart --steps 6 --threads 1 --peak-flops 1e9 --comm threads=2 --tp 2
expect_equal "$(values apart z_loss | wc -l)" 6 "steps with z-loss"
expect_exit 0 dt-train --run apart --steps 7 --threads 1 --peak-flops 1e9 --z-loss 0.2
expect_match stderr '--z-loss: 0.1 → 0.2'
expect_match stderr 'z_loss 0.1 → 0.2'

expect_exit 0 train planned --steps 4 --z-loss 0.1 --dry-run
expect_exit 2 train refused --steps 4 --z-loss -1
expect_match stderr '--z-loss'
expect_absent refused
