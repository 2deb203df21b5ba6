#!/usr/bin/env bash
# A loss that is not finite costs no good checkpoint, and what the message advises works; so on nodes' own storage, and where a run ends.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
make_shards shards
constant=(--schedule constant --warmup-steps 0)
# left RUN: what is in its folder of checkpoints.
left() { find "$1/checkpoints" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' '; }

# The weights of step 21 give no finite loss: whether they are saved or not, step 20 stays, and a start with a lower rate resumes from it.
train good "${constant[@]}" --quiet --save-every 5 --keep-last 1 --steps 20 >/dev/null || fail "20 good steps"
expect_equal "$(left good)" "step-00000020.g1 " "--keep-last 1"
for every in 1 5; do
  for ranks in self "threads=2 --pp 2 --zero 1"; do
    rm -rf run && cp -r good run
    # shellcheck disable=SC2086
    expect_exit 3 train run "${constant[@]}" --quiet --save-every $every --keep-last 1 --steps 40 --lr 1e4 --comm $ranks
    if ((every == 1)); then
      expect_match stderr 'step 22: loss nan.*; run/checkpoints/step-00000021.g2 is marked as not finite, and --resume auto skips it'
      expect_equal "$(left run)" "step-00000020.g1 step-00000021.g2 step-00000021.g2.not-finite.json " "saved each step"
    else
      expect_match stderr 'step 22: loss nan.*; the weights of step 21 are not saved'
      expect_equal "$(left run)" "step-00000020.g1 " "saved each fifth step"
    fi
    expect_match stderr 'start again with --resume run/checkpoints/step-00000020.g1 and a lower --lr \(it was 10000\)'
  done
done
expect_equal "$(dt-checkpoint latest run)" run/checkpoints/step-00000020.g1 "latest"
expect_exit 0 train run "${constant[@]}" --save-every 5 --keep-last 1 --steps 40
expect_match stderr 'resuming from run/checkpoints/step-00000020.g1'
expect_equal "$(left run)" "step-00000040.g3 " "after a run that ended well"

# Where a marked one alone is left, a resume refuses and names it; named, it is taken, and the mark goes with a finite loss.
rm -rf run && cp -r good run
printf '{"format":"dt-not-finite","version":1,"at":"then","found":"the loss of step 21","loss":"nan"}' \
  >run/checkpoints/step-00000020.g1.not-finite.json
expect_exit 3 train run "${constant[@]}" --quiet --steps 22
expect_match stderr 'skipping run/checkpoints/step-00000020.g1: its weights gave a loss that is not finite: the loss of step 21 was nan'
expect_match stderr "none of the run's 1 checkpoint can be loaded.*use --resume never to start from step 0.*--resume run/checkpoints/step-00000020.g1"
expect_exit 0 dt-checkpoint list run
expect_match stderr 'step-00000020.g1: its weights gave a loss that is not finite'
expect_exit 0 dt-checkpoint prune run --keep-last 2
expect_match stdout 'kept .*step-00000020.g1: not counted: its weights gave'
expect_exit 3 dt-train --eval-only --data shards --run run --sequence-length 32 --threads 1
expect_match stderr 'skipping run/checkpoints/step-00000020.g1'
expect_exit 0 train run "${constant[@]}" --quiet --steps 22 --resume run/checkpoints/step-00000020.g1
expect_equal "$(left run)" "step-00000022.g2 " "after a finite loss, by the run's --keep-last 1"

# Finite loss, gradients that are not: the weights are saved, and the older checkpoint that the message names is there.
rm -rf run && cp -r good run
expect_exit 3 train run "${constant[@]}" --quiet --save-every 1 --keep-last 1 --steps 40 --lr 1e30
expect_match stderr 'step 22: loss [0-9.]+, gradient norm nan: not finite .*the weights of step 21 are saved in run/checkpoints/step-00000021.g2, but'
expect_match stderr 'start again with --resume run/checkpoints/step-00000020.g1 and a lower --lr'
expect_equal "$(left run)" "step-00000020.g1 step-00000021.g2 " "finite loss"
expect_exit 0 train run "${constant[@]}" --quiet --steps 30 --resume run/checkpoints/step-00000020.g1

# The last step's weights are proven by the evaluation, or by a forward pass where there is none.
dt-shard-data --quiet --out unvalidated --val-fraction 0 text >/dev/null || fail "dt-shard-data"
train plain "${constant[@]}" --quiet --data unvalidated --keep-last 1 --steps 20 >/dev/null || fail "without validation"
for from in good plain; do
  data=shards found='the validation loss of step 21'
  [[ $from == good ]] || data=unvalidated found='the loss of the weights of step 21'
  rm -rf run && cp -r "$from" run
  expect_exit 3 train run "${constant[@]}" --quiet --data $data --keep-last 1 --steps 21 --lr 1e4 --comm threads=2
  expect_match stderr "error: $found is nan; run/checkpoints/step-00000021.g2 is marked.*--resume run/checkpoints/step-00000020.g1"
  expect_exit 0 train run "${constant[@]}" --quiet --data $data --keep-last 1 --steps 21
  expect_equal "$(left run)" "step-00000021.g2 step-00000021.g2.not-finite.json step-00000021.g3 " "proven at the end"
done

# On nodes' own storage the newest proven share stays, and a resume takes it.
local_saves=(--save-every 1 --checkpoint-local local --flush-every 1000)
rm -rf run && cp -r good run
expect_exit 3 train run "${constant[@]}" --quiet "${local_saves[@]}" --steps 80 --precision fp16 --lr 1
expect_match stderr 'step-[0-9]+.g2 is marked.*--resume auto and a lower --lr .*training resumes from step [0-9]+ on node-local storage'
step=$(sed -nE 's/.*training resumes from step ([0-9]+) on node-local.*/\1/p' stderr)
if grep -E -e "--resume run/checkpoints/step-[0-9]+.g[0-9]+ with" stderr; then fail "it names a checkpoint that lies on the nodes alone"; fi
expect_exit 0 train run "${constant[@]}" "${local_saves[@]}" --steps $((step + 1)) --precision fp16 --lr 1e-9
expect_match stderr "skipping run/checkpoints/step-0*$((step + 1)).g2: its weights gave a loss that is not finite"
expect_match stderr "resuming from run/checkpoints/step-0*$step.g2"

# At random steps, in all precisions and some layouts; long_not_finite.sh has a thousand.
mkdir work
(cd work && PYTHONDONTWRITEBYTECODE=1 python3 "$DT_TESTS/faults/not_finite.py" 12 7) || fail "not_finite.py"
