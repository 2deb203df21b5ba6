#!/usr/bin/env bash
# What a resume does with checkpoints that cannot be loaded: it says why, never starts from step 0 by itself, and does not try for ever.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards

at() { echo "$1/checkpoints/step-000000$2"; }
# flip CKPT: a bit in the middle of what it stores.
flip() {
  local file=$1/rank-00000.h5 middle byte
  middle=$(($(stat -c %s "$file") / 2))
  byte=$(od -An -tu1 -j "$middle" -N 1 "$file")
  # shellcheck disable=SC2059
  printf "\\x$(printf %02x $((byte ^ 16)))" | dd of="$file" bs=1 seek="$middle" conv=notrunc status=none
}
generations() { find "$1/generations" -name "*.json" | wc -l; }
failed_loads() { wc -l <"$1.failed-loads.jsonl"; }

steps=(--schedule constant --warmup-steps 0 --save-every 10)
train run "${steps[@]}" --steps 30 >/dev/null || fail "first start"
cp -r run good

# Flipped, truncated, without a file: each is skipped with its name and the reason, and the run resumes from the oldest.
train four "${steps[@]}" --steps 40 >/dev/null || fail "four checkpoints"
flip "$(at four 40.g1)"
truncate -s 1000 "$(at four 30.g1)/rank-00000.h5"
rm "$(at four 20.g1)/rank-00000.h5"
expect_exit 0 train four "${steps[@]}" --steps 40
expect_equal "$(grep -c 'warning: skipping' stderr)" 3 "warnings"
expect_match stderr 'skipping four/checkpoints/step-00000040.g1: .*bytes [0-9]+ to [0-9]+ have the digest'
expect_match stderr 'skipping four/checkpoints/step-00000030.g1: .*has 1000 bytes, expected'
expect_match stderr 'skipping four/checkpoints/step-00000020.g1: .*rank-00000.h5 is missing'
expect_match stderr 'after four/checkpoints/step-00000040.g1 is repaired, use --resume four/checkpoints/step-00000040.g1'
expect_match stderr 'resuming from four/checkpoints/step-00000010.g1 \(step 10 of 40\)'
expect_match four/metrics.jsonl '"kind":"resume".*"checkpoint":"step-00000010.g1","passed_over":\[\{"path":"four/checkpoints/step-00000040.g1","reason":".*digest.*\},\{.*1000 bytes.*\},\{.*missing'
[[ -d $(at four 40.g2) ]] || fail "step 40 was not saved by the new generation"
expect_equal "$(failed_loads "$(at four 40.g1)")" 1 "failed loads"

# The part that only one of several ranks reads.
cp -r good ranks
flip "$(at ranks 30.g1)"
expect_exit 0 train ranks "${steps[@]}" --steps 31 --comm threads=3 --zero 3
expect_match stderr 'skipping ranks/checkpoints/step-00000030.g1: rank [0-9].*digest'
expect_match stderr 'resuming from ranks/checkpoints/step-00000020.g1'

# None loads: never anew, and the third time is the last that they are read.
for checkpoint in run/checkpoints/*; do flip "$checkpoint"; done
for start in 1 2 3; do
  expect_exit 3 train run "${steps[@]}" --steps 40
  expect_equal "$(grep -c 'skipping .*digest' stderr)" 3 "warnings of start $start"
  expect_match stderr "error: none of the run's 3 checkpoints can be loaded.*dt-checkpoint verify run/checkpoints/step-00000030.g1.*--resume never"
  expect_equal "$(failed_loads "$(at run 30.g1)")" "$start" "failed loads"
done
expect_exit 3 train run "${steps[@]}" --steps 40
expect_equal "$(grep -c 'skipping .*excluded: 3 starts found it damaged' stderr)" 3 "set aside"
expect_exit 3 train run "${steps[@]}" --steps 40 --dry-run
expect_exit 3 dt-train --quiet --eval-only --data shards --run run --sequence-length 32 --threads 1
expect_equal "$(failed_loads "$(at run 30.g1)")" 3 "failed loads"
expect_equal "$(generations run)" 1 "generations"
expect_exit 0 dt-checkpoint list run
expect_match stdout '^ *30 .* no +yes .*step-00000030.g1$'
expect_match stderr 'step-00000030.g1: excluded: 3 starts'
expect_exit 0 dt-checkpoint list run --json
expect_match stdout '"step":30,.*"complete":false,.*"problem":"excluded: '
expect_exit 3 dt-checkpoint latest run
expect_match stderr 'skipping run/checkpoints/step-00000030.g1: excluded'

# Once repaired, it is named, loads, and counts again.
cp good/checkpoints/step-00000020.g1/rank-00000.h5 "$(at run 20.g1)"
expect_exit 3 train run "${steps[@]}" --steps 40
expect_exit 0 train run "${steps[@]}" --steps 21 --resume "$(at run 20.g1)"
expect_absent "$(at run 20.g1).failed-loads.jsonl"
expect_equal "$(dt-checkpoint latest run)" "$(at run 21.g2)"
expect_exit 0 train run "${steps[@]}" --steps 22
expect_match stderr 'resuming from run/checkpoints/step-00000021.g2'

# A start that is killed while it loads is no evidence against the checkpoint.
cp -r good killed
for ((trial = 0; trial < 8; ++trial)); do
  start_training killed "${steps[@]}" --steps 100000
  sleep "0.0$((RANDOM % 90 + 10))"
  kill -KILL "$trainer" 2>/dev/null || true
  wait "$trainer" 2>/dev/null || true
done
expect_absent killed/checkpoints/*.failed-loads.jsonl

# Another model is the user's mistake, found before a tensor is read, and no reason to look at older ones.
cp -r good other
flip "$(at other 30.g1)"
echo '{"model_type": "llama", "vocab_size": 300, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256}' >wider.json
expect_exit 3 train other "${steps[@]}" --steps 40 --model wider.json
expect_match stderr "cannot resume: the model's .* \(weights of .* is \[.*\] in the checkpoint and \[.*\] in the model\)"
! grep -q 'skipping' stderr || fail "a checkpoint was skipped because of the user's mistake"
expect_absent "$(at other 30.g1).failed-loads.jsonl"

# Nor is what another version of dt wrote.
cp -r good newer
make_checkpoint newer 40 format_version=9 >/dev/null || fail "make_checkpoint"
expect_exit 3 train newer "${steps[@]}" --steps 40
expect_match stderr "step-00000040.g1/manifest.json.* version 9"
expect_equal "$(generations newer)" 1 "generations"
expect_absent "$(at newer 40.g1).failed-loads.jsonl"

# A file that may not be read is no damage.
cp -r good forbidden
chmod 0 "$(at forbidden 30.g1)/rank-00000.h5"
arguments forbidden "${steps[@]}" --steps 40
expect_exit 4 bound dt-train "${train_args[@]}"
expect_match stderr 'step-00000030.g1.*rank-00000.h5: Permission denied'
expect_absent "$(at forbidden 30.g1).failed-loads.jsonl"

# One that the device fails to read is, where it reads others; a disk that reads none ends the start.
for file in rank-00000.h5 manifest.json; do
  cp -r good failing
  arguments failing "${steps[@]}" --steps 31
  expect_exit 0 failing_reads 5 "failing/checkpoints/step-00000030.g1/$file" dt-train "${train_args[@]}"
  expect_match stderr "skipping .*step-00000030.g1.*$file: Input/output error"
  expect_match stderr 'resuming from failing/checkpoints/step-00000020.g1'
  rm -r failing
done
cp -r good failing
arguments failing "${steps[@]}" --steps 31
expect_exit 4 failing_reads 5 'failing/checkpoints/step-00000030.g1/.*' dt-train "${train_args[@]}"
expect_match stderr 'step-00000030.g1/manifest.json: Input/output error'
# What its server has replaced is opened anew, once.
last=1 expect_exit 0 failing_reads 116 'failing/checkpoints/step-00000030.g1/manifest.json' dt-train "${train_args[@]}"
expect_match stderr 'resuming from failing/checkpoints/step-00000030.g1'

# Beginning anew is asked for, and said; what it left aside is not forgotten by the next start.
cp -r good anew && rm anew/metrics.jsonl
start_training anew --schedule constant --steps 100000 --resume never
wait_for_step anew 3
kill -KILL "$trainer"
wait "$trainer" 2>/dev/null || true
expect_exit 3 train anew "${steps[@]}" --steps 40
expect_match stderr 'its newest generation 2 started from step 0 and has no checkpoint; other generations have 3; .*--resume never'
expect_exit 0 train anew "${steps[@]}" --steps 31 --resume "$(at anew 30.g1)"
expect_match stderr 'resuming from anew/checkpoints/step-00000030.g1'
expect_exit 0 train anew "${steps[@]}" --steps 10 --resume never
expect_match stderr "resume never: starting a new generation from step 0; --resume can still name the run's 4 checkpoints"
[[ -d $(at anew 10.g4) ]] || fail "no checkpoint of the new line"

# All are gone, but there were some.
rm -r ranks/checkpoints/*
expect_exit 3 train ranks "${steps[@]}" --steps 40
expect_match stderr 'its newest generation 2 resumed from step-00000020.g1, which is missing, and has no checkpoint'
