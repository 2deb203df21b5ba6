#!/usr/bin/env bash
# 16-bit training, what is computed again, and what the choices refuse.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards

# value NAME RUN: a member of the run's last training line.
value() { grep '"kind":"train"' "$2/metrics.jsonl" | tail -n 1 | sed -nE "s/.*\"$1\":([^,}]+).*/\1/p"; }
validation() { sed -nE 's/.*"val_loss":([^,]+),.*/\1/p' "$1/metrics.jsonl" | tail -n 1; }
# near A B BOUND
near() { awk -v a="$1" -v b="$2" -v bound="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= bound) }' || fail "$1 and $2"; }
common=(--quiet --steps 60 --eval-batches 4)

# 16 bits learn what fp32 learns; any power of two of ranks makes the same bits.
train fp32 "${common[@]}" >/dev/null || fail "fp32"
for precision in bf16 fp16; do
  train "$precision" "${common[@]}" --precision "$precision" --grad-lanes 4 >/dev/null || fail "$precision"
  near "$(validation "$precision")" "$(validation fp32)" 0.05
  for kind in threads=2 mpi=4; do
    expect_exit 0 train_as "$kind" "$precision-$kind" "${common[@]}" --precision "$precision" --grad-lanes 4
    expect_same_model "$precision" "$precision-$kind"
  done
done

# What is computed again has the same bits.
for precision in fp32 bf16; do
  for recompute in none selective full; do
    train "$precision-$recompute" --quiet --steps 8 --precision "$precision" --recompute "$recompute" >/dev/null || fail "$recompute"
    expect_same_model "$precision-none" "$precision-$recompute"
  done
done

# Gradients in 16 bits train too, and are not the same.
train bf16-grads "${common[@]}" --precision bf16 --grad-dtype bf16 >/dev/null || fail "--grad-dtype bf16"
near "$(validation bf16-grads)" "$(validation fp32)" 0.05
train bf16-one "${common[@]}" --precision bf16 >/dev/null || fail "bf16"
[[ $(value loss bf16-grads) != "$(value loss bf16-one)" ]] || fail "--grad-dtype changes nothing"

# Checkpoints hold the fp32 masters: stopped and resumed is as never stopped, and any precision resumes from them.
train whole --quiet --steps 20 --precision bf16 --schedule constant --warmup-steps 0 >/dev/null || fail "whole"
for steps in 7 20; do
  train parts --quiet --steps $steps --precision bf16 --schedule constant --warmup-steps 0 >/dev/null || fail "parts"
done
expect_same_model whole parts
expect_exit 0 dt-checkpoint show "$(dt-checkpoint latest whole)"
expect_match stdout "bf16, matmul"
expect_exit 0 train parts --quiet --steps 25 --precision fp32 --schedule constant --warmup-steps 0
near "$(value loss parts)" "$(value loss whole)" 0.5
expect_exit 0 dt-train --eval-only --quiet --json --data shards --sequence-length 32 --run whole --precision bf16 --threads 1
near "$(sed -nE 's/.*"val_loss":([^,]+),.*/\1/p' stdout)" "$(validation whole)" 0.05

# The choice of the multiply is told, kept, and can be made.
expect_exit 0 train chosen --steps 2 --precision bf16 --matmul fp32
expect_exit 0 dt-checkpoint show "$(dt-checkpoint latest chosen)"
expect_match stdout "matmul fp32"
expect_exit 0 train chosen --steps 4 --precision bf16 --matmul auto
if grep -qs avx512_bf16 /proc/cpuinfo; then
  expect_match stderr "bf16 matrix products use fp32, as earlier in this run"
  expect_exit 0 train native --quiet --steps 2 --precision bf16 --matmul bf16
else
  expect_match stderr "bf16 matrix products use fp32"
  expect_exit 4 train native --quiet --steps 2 --precision bf16 --matmul bf16
  expect_match stderr "AVX512_BF16"
fi

if grep -qs amx_bf16 /proc/cpuinfo; then
  expect_exit 0 train tiles --steps 2 --precision bf16 --matmul amx
  expect_exit 0 dt-checkpoint show "$(dt-checkpoint latest tiles)"
  expect_match stdout "matmul amx"
  # A kernel that keeps its tiles to itself: bf16 uses other arithmetic, and says so; asked for by name, they are an error.
  refused=$DT_BUILD/lib/librefused_tiles.so
  LD_PRELOAD=$refused expect_exit 0 train refused --steps 2 --precision bf16
  expect_match stderr "bf16 matrix products do not use amx: the CPU of .* has AMX, but the operating system does not permit"
  LD_PRELOAD=$refused expect_exit 4 train refused2 --steps 2 --precision bf16 --matmul amx
  expect_match stderr "the operating system does not permit its use"
else
  expect_exit 4 train tiles --steps 2 --precision bf16 --matmul amx
  expect_match stderr "has no AMX"
fi

# fp16: a gradient that overflows costs the update, not the run; the scale halves and is kept on resume.
printf '{"model_type":"llama","vocab_size":20000,"hidden_size":32,"intermediate_size":64,"num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":2,"max_position_embeddings":64}' >wide.json
overflow=(--model wide.json --precision fp16 --sequence-length 1 --global-batch 1 --micro-batch 1)
expect_exit 0 train overflow --steps 1 "${overflow[@]}"
expect_match stderr "update skipped; loss scale is now 32768"
expect_equal "$(value loss_scale overflow)" 32768.0 "the loss scale"
expect_exit 0 train overflow --quiet --steps 2 "${overflow[@]}"
expect_equal "$(value loss_scale overflow)" 16384.0 "the loss scale of a run that went on, and overflowed again"
expect_exit 3 train fixed --quiet --steps 1 "${overflow[@]}" --loss-scale 65536
expect_match stderr "step 1: loss .*, gradient norm (inf|nan)"
expect_match stderr "samples 0 to 0"

# A loss that is not finite names the step, the rank and its samples, alike on all ranks.
expect_exit 3 train_as mpi=2 diverges --quiet --steps 50 --lr 1e30 --warmup-steps 0 --clip-norm 0
expect_match stderr "step [0-9]*: loss .*: not finite (.*samples [0-9]* to [0-9]*)"
expect_equal "$(grep -c 'gradient norm .*: not finite' stderr)" 1 "messages"

expect_exit 2 train no --steps 2 --precision fp8
expect_match stderr "bf16"
expect_exit 2 train no --steps 2 --precision fp16 --matmul bf16
expect_match stderr "needs --precision bf16"
expect_exit 2 train no --steps 2 --loss-scale 8
expect_match stderr "needs --precision fp16"
expect_exit 2 train no --steps 2 --precision fp64 --grad-dtype bf16
expect_match stderr "grad-dtype"
expect_exit 2 train no --steps 2 --recompute some
expect_match stderr "selective"
expect_exit 2 dt-train --eval-only --data shards --init-from x --recompute full
expect_match stderr "recompute"
