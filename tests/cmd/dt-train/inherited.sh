#!/usr/bin/env bash
# A resume takes the options that it leaves out from the run: --run alone goes on with it.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards

machine=(--threads 1 --peak-flops 1e9)
begun=(--model llama-tiny --data shards --sequence-length 32 --global-batch 16 --micro-batch 2 --lr 2e-3 --warmup-steps 3 --seed 3
  --grad-lanes 4 --clip-norm 0.5 --weight-decay 0.2 --mask-documents --save-every 5 --keep-last 2 --keep-every 20 --eval-every 10
  --eval-batches 1)
lr_at() { sed -nE "s/.*\"kind\":\"train\",\"step\":$2,.*\"lr\":([^,]+),.*/\1/p" "$1/metrics.jsonl" | tail -n 1; }

# stop_after STEP RUN [options]: ends a run there with SIGTERM.
stop_after() {
  dt-train "${machine[@]}" --run "${@:2}" --log-every 1 >/dev/null 2>&1 &
  local trainer=$!
  wait_for_step "$2" "$1"
  kill -TERM "$trainer"
  wait "$trainer" || true
}

expect_exit 0 dt-train "${begun[@]}" "${machine[@]}" --run whole --steps 400 --log-every 1
stop_after 6 run "${begun[@]}" --steps 400
expect_exit 0 dt-train --run run "${machine[@]}"
expect_equal "$(grep -c 'using options from run/run.json: ' stderr)" 1 "lines that tell of it"
expect_match stderr 'using options from run/run.json: --data shards --seed 3 --steps 400 and [0-9]+ more \(--verbose lists them\)$'
expect_same_model whole run
expect_equal "$(losses run)" "$(losses whole)" losses
expect_equal "$(find run/checkpoints -mindepth 1 -maxdepth 1 | wc -l)" "$(find whole/checkpoints -mindepth 1 -maxdepth 1 | wc -l)" kept
if grep -q '"option": "[^r]' run/run.json; then grep -A3 '"option"' run/run.json; fail "a change that no option asked for"; fi
# The same command again inherits nothing, and a run at its end has nothing to do.
expect_exit 0 dt-train "${begun[@]}" "${machine[@]}" --run run --steps 400 --log-every 1
if grep -q 'using options' stderr; then fail "told of options that were given"; fi

# What was left out stays left out: a new --lr has a --min-lr of its own. One of --steps, --tokens, --epochs replaces the others.
cp -r run other
expect_exit 0 dt-train --run other "${machine[@]}" --tokens $((410 * 16 * 32)) --lr 1e-3
expect_match stderr 'step 400 of 410'
expect_match stderr -- '--steps: 400 → unset'
expect_equal "$(lr_at other 410)" 0.0001 "the last learning rate"
expect_exit 0 dt-train --run other "${machine[@]}"
expect_match stderr 'is at step 410 and ends at step 410: nothing is left to do'
expect_exit 0 dt-train --run other "${machine[@]}" --steps 411 --no-mask-documents
expect_match stderr -- '--mask-documents: true → false'
expect_exit 0 dt-train --run other "${machine[@]}" --steps 412 --verbose
expect_match stderr 'from other/run.json: --no-mask-documents$'

# From elsewhere, and as ranks.
mkdir elsewhere
(cd elsewhere && expect_exit 0 mpi 2 dt-train --run ../other "${machine[@]}" --steps 413 && expect_match stderr "using options from ../other/run.json: --data $OLDPWD/shards ")
# A folder of the same name that holds other data is not taken for it.
cp -r text elsewhere/text && dt-shard-data --quiet --out elsewhere/shards --seed 9 elsewhere/text >/dev/null
(cd elsewhere && expect_exit 0 dt-train --run ../other "${machine[@]}" --steps 414)

# --eval-only: the run's data and length, and the checkpoint's name.
expect_exit 0 dt-train --eval-only --run run --json --threads 1 --eval-batches 1
expect_match stderr 'evaluating run/checkpoints/step-00000400.g2 \(step 400\) on samples of 32 tokens'
expect_match stdout '"step":400,.*"checkpoint":"run/checkpoints/step-00000400.g2"'
in_run=$(sed -nE 's/.*"kind":"eval","step":400,"val_loss":([^,]+),.*/\1/p' run/metrics.jsonl | tail -n 1)
expect_equal "$(json_value stdout val_loss)" "$in_run" "validation losses"
expect_exit 0 dt-train --eval-only --init-from run/checkpoints/step-00000400.g2 --json --threads 1 --eval-batches 1
expect_equal "$(json_value stdout val_loss)" "$in_run" "validation losses of a checkpoint that is named"
cp -r run/checkpoints/step-00000400.g2 alone
expect_exit 0 dt-train --eval-only --init-from alone --data shards --threads 1
expect_match stderr 'evaluating alone \(step 400\) on samples of 32 tokens'

# Another run's checkpoint brings its run's options, which are the new run's from then on.
expect_exit 0 dt-train --run branch --resume run/checkpoints/step-00000400.g2 --steps 401 "${machine[@]}"
expect_match stderr 'using options from .*/run/run.json: '
expect_exit 0 dt-train --run branch --steps 402 "${machine[@]}"
expect_match stderr 'using options from branch/run.json: --data shards'

# --resume never begins another training, and inherits nothing.
expect_exit 2 dt-train --run run --resume never
expect_match stderr -- '--data is missing; give a dataset of dt-shard-data; see --help$'

# A mistyped run directory is named.
expect_exit 2 dt-train --run rnu
expect_match stderr -- '--data is missing; give a dataset of dt-shard-data; rnu holds no run to take it from$'

# tp, cp, pp and zero where the ranks allow it, with what goes with them.
laid=(--model llama-tiny --data shards --sequence-length 32 "${machine[@]}")
expect_exit 0 dt-train "${laid[@]}" --run laid --steps 2 --comm threads=4 --tp 2 --sequence-parallel --pp 2 --pp-schedule zero-bubble \
  --stage-units 1,3 --zero 1 --zero-group 1
layout_of() { grep -E '"layout":' "$1/run.json" | tail -n 1 | sed -E 's/.*: "(.*)",?/\1/'; }
expect_exit 0 dt-train --run laid --steps 4 --comm threads=4 "${machine[@]}"
if grep -q 'not fit' stderr; then cat stderr; fail "these ranks allow it"; fi
expect_equal "$(grep -c '"layout":' laid/run.json)" 1 "layouts"
expect_exit 0 dt-train --run laid --steps 6 --comm threads=2 "${machine[@]}"
expect_match stderr -- "--pp 2 from laid/run.json does not fit 2 ranks: using the default"
expect_equal "$(layout_of laid)" pp=1,dp=1,tp=2,sp=on,zero=0
expect_exit 0 dt-train --run laid --steps 8 "${machine[@]}"
expect_match stderr -- '--tp 2, --pp 2 from laid/run.json do not fit 1 rank: using the default'
# Other stages have a schedule and units of their own, from then on.
for steps in 10 12; do
  [[ $steps == 12 ]] || other=(--pp 4)
  expect_exit 0 dt-train --run laid --steps $steps --comm threads=8 "${machine[@]}" "${other[@]}"
  expect_equal "$(layout_of laid)" pp=4,dp=1,tp=2,sp=on,zero=0
  other=()
done
expect_exit 0 dt-train "${laid[@]}" --run groups --steps 2 --comm threads=4 --zero 2 --zero-group 4
expect_exit 0 dt-train --run groups --steps 4 --comm threads=2 "${machine[@]}"
expect_match stderr -- '--zero-group 4 from groups/run.json does not fit 2 ranks'

# A run that an older dt began says not what was given, nor absolute paths.
cp -r run older
python3 - <<'END' || skip "python3 is not here"
import json
record = json.load(open("older/run.json"))
del record["given"], record["paths"], record["layouts"]
record["changes"] = []
json.dump(record, open("older/run.json", "w"), indent=2)
END
expect_exit 0 dt-train --run older "${machine[@]}"
expect_match stderr 'using options from older/run.json: --data shards --seed 3 --steps 400 and [0-9]+ more'
expect_match stderr 'nothing is left to do'

# A torn run.json stops no resume: it is told, and what is left out has its default.
printf '{"format":"dt-r' >other/run.json
expect_exit 0 dt-train --run other "${begun[@]}" "${machine[@]}" --steps 416
expect_match stderr "warning: other/run.json is not a run.json of dt: the file is ignored"
expect_exit 0 dt-train --run other "${machine[@]}" --steps 417
expect_match stderr 'using options from other/run.json: --data shards'

# What began with other weights, and has saved nothing, does not begin without them.
stop_after_start() {
  dt-train "${laid[@]}" --run "$1" --steps 100000 --init-from alone >/dev/null 2>&1 &
  trainer=$!
  wait_for_step "$1" 3
  kill -KILL "$trainer"
  wait "$trainer" 2>/dev/null || true
}
stop_after_start weights
expect_exit 2 dt-train --run weights "${machine[@]}"
expect_match stderr "weights started with --init-from alone and has no checkpoint to resume from; give --init-from $PWD/alone again"
expect_exit 0 dt-train --run weights "${machine[@]}" --steps 2 --init-from alone
expect_equal "$(grep -c '"reason":"init-from"' weights/metrics.jsonl)" 2 "starts from other weights"

# Checkpoints on the nodes alone are checkpoints: such a run goes on without --init-from.
dt-train "${laid[@]}" --run local_run --steps 100000 --init-from alone --save-every 2 --checkpoint-local local --flush-every 100000 \
  >/dev/null 2>&1 &
trainer=$!
wait_for_step local_run 6
kill -KILL "$trainer"
wait "$trainer" 2>/dev/null || true
step=$(sed -nE 's/.*"kind":"local_checkpoint","step":([0-9]+),.*/\1/p' local_run/metrics.jsonl | tail -n 1)
expect_exit 0 dt-train --run local_run "${machine[@]}" --checkpoint-local local --flush-every 100000 --save-every 2 --steps $((step + 1))
# A save may have been whole on the node before its line was written.
expect_match stderr "resuming from .*step-($(printf %08d "$step")|$(printf %08d $((step + 2)))).g1"
