#!/usr/bin/env bash
# diff compares tensor by tensor, whatever the layouts.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make() { make_checkpoint "$@" || fail "make_checkpoint $*"; }
a=$(make a 10)
same=$(make b 10 parts=5)
other=$(make c 10 perturb=layers.1.attention.q.weight)
poisoned=$(make d 10 poison=final_norm.weight)
dropped=$(make e 10 drop=layers.0.mlp.up.bias)
llama=$(make f 10 model=llama)
later=$(make g 11)

expect_exit 0 dt-checkpoint diff "$a" "$same"
expect_equal "$(grep -c ' equal ' stdout)" 108 "every tensor of three kinds has its line"
expect_exit 0 dt-checkpoint diff "$a" "$later"; expect_match stderr "steps differ: 10 and 11"
for writers in 2 5; do
  written=$(make "w$writers" 10 writers=$writers)
  expect_exit 0 dt-checkpoint diff "$a" "$written"
  expect_equal "$(grep -c ' equal ' stdout)" 108 "every tensor of $writers writers"
  changed=$(make "v$writers" 10 writers=$writers perturb=layers.1.attention.q.weight)
  expect_exit 5 dt-checkpoint diff "$written" "$changed"
  expect_match stdout "^layers.1.attention.q.weight +weights +differs +0.5 "
  expect_match stderr "1 of 108 tensors differs"
done

expect_exit 5 dt-checkpoint diff "$a" "$other"
expect_match stdout "^layers.1.attention.q.weight +weights +differs +0.5 +0\.0[0-9]+$"
expect_match stderr "1 of 108 tensors differs"
expect_exit 5 dt-checkpoint diff "$a" "$other" --json
expect_equal "$(grep -vc '"equal":true' stdout)" 1
expect_match stdout '^\{"tensor":"layers.1.attention.q.weight","kind":"weights","equal":false,"outcome":"differs","max_abs":0.5,"relative_norm":0\.0[0-9]+\}$'

expect_exit 5 dt-checkpoint diff "$a" "$poisoned"; expect_match stdout "final_norm.weight +weights +differs +nan +nan"
expect_exit 0 dt-checkpoint diff "$poisoned" "$poisoned"
expect_exit 5 dt-checkpoint diff "$a" "$dropped"; expect_match stdout "layers.0.mlp.up.bias +adam_m +only in A"
expect_exit 5 dt-checkpoint diff "$dropped" "$a"; expect_match stdout "layers.0.mlp.up.bias +adam_m +only in B"
expect_exit 5 dt-checkpoint diff "$a" "$llama"; expect_match stdout "layers.0.mlp.gate.weight +weights +only in B"

# A damaged one cannot be compared.
printf 'xxxx' | dd of="$other/rank-00000.h5" bs=1 seek=4000 conv=notrunc status=none
expect_exit 3 dt-checkpoint diff "$a" "$other"
expect_match stderr "$other/rank-00000.h5: .*digest.*dt-checkpoint verify"
