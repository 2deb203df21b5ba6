#!/usr/bin/env bash
# reshard writes the same state in the pieces of another layout, whole or not at all.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make() { make_checkpoint "$@" || fail "make_checkpoint $*"; }
reshard() { dt-checkpoint reshard --quiet "$@"; }
source=$(make run 10 writers=3)
expect_exit 0 dt-merge "$source" --out whole.h5

# From layout to layout and back: one file a rank, every tensor equal, one merged model.
previous=$source
for layout in tp=2,pp=2,dp=1,zero=1 dp=8,zero=3 tp=4 pp=2,dp=3 pp=4 dp=4,zero=2,zero-group=2 dp=2,tp=4,zero=0 dp=1; do
  expect_exit 0 reshard "$previous" "to $layout" --layout "$layout" --json
  next="to $layout"
  expect_match stdout "^\{\"path\":\"to $layout\",\"step\":10,\"generation\":1,\"layout\":\"pp=[0-9]+,dp=[0-9]+,tp=[0-9]+,zero=[0-3](,zero-group=2)?\",\"files\":[0-9]+,\"pieces\":[0-9]+,\"bytes\":[0-9]+\}$"
  expect_equal "$(json_value stdout files)" "$(find "$next" -name 'rank-*.h5' | wc -l)" "files of $layout"
  expect_exit 0 dt-checkpoint verify "$next"
  expect_exit 0 dt-checkpoint diff "$source" "$next"
  expect_exit 0 dt-merge "$next" --out merged.h5 --overwrite
  cmp whole.h5 merged.h5 || fail "the merged model of $layout differs"
  previous=$next
done
expect_equal "$(find "to tp=2,pp=2,dp=1,zero=1" -name 'rank-*.h5' | wc -l)" 4
expect_exit 0 dt-checkpoint show "to tp=2,pp=2,dp=1,zero=1"; expect_match stdout "pp=2,dp=1,tp=2,zero=1"
# Of four units as many stages may hold one each.
expect_exit 0 dt-checkpoint show --json "to pp=4"
expect_match stdout '"stages": ?\[\{"stage": ?0,"begin": ?0,"end": ?1\}.*\{"stage": ?3,"begin": ?3,"end": ?4\}\]'
# A layout is read as it is printed, with every stage that its schedule spreads over the ranks.
for layout in pp=2,schedule=zero-bubble,virtual-stages=2,dp=1,tp=1,zero=0 pp=2,schedule=gpipe,dp=4,tp=1,zero=1,zero-group=2 pp=1,dp=2,tp=2,sp=on,zero=1; do
  expect_exit 0 reshard "$source" printed --layout "$layout" --json
  expect_match stdout "\"layout\":\"$layout\""
  expect_exit 0 dt-checkpoint verify printed
  expect_exit 0 dt-checkpoint diff "$source" printed
  rm -r printed
done
expect_exit 0 reshard "$source" printed --layout pp=2,schedule=zero-bubble,virtual-stages=2
expect_exit 0 dt-checkpoint show --json printed
expect_match stdout '"stages": ?\[\{"stage": ?0,"begin": ?0,"end": ?1\}.*\{"stage": ?0,"begin": ?3,"end": ?4\}\]'
expect_exit 0 reshard "$source" whole --layout dp=2,zero=3,zero-group=all
rm -r printed whole
# The state of a step is the same text, whatever its pieces.
state() { dt-checkpoint show --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])'; }
expect_equal "$(state "$previous")" "$(state "$source")" "state"

# Another run takes it under its name; another name would mean another state.
mkdir -p other/checkpoints
expect_exit 0 reshard "$source" other/checkpoints/step-00000010.g1 --layout dp=2
expect_equal "$(dt-checkpoint latest other)" other/checkpoints/step-00000010.g1
expect_exit 3 reshard "$source" other/checkpoints/step-00000011.g1 --layout dp=2
expect_match stderr "step-00000011.g1 means step 11, .* is from step 10, generation 1"

# Layouts that are none.
layout() { expect_exit 2 reshard "$source" refused --layout "$1"; expect_match stderr "$2"; }
expect_exit 2 reshard "$source" refused; expect_match stderr "--layout is missing"
layout tp "--layout tp: 'tp' has no value; write tp=VALUE"
layout zeroo=2 "'zeroo=2' is not a layout setting; did you mean 'zero'"
layout ring=2 "expected settings: pp=, schedule=, virtual-stages=, dp=, cp=, ep=, tp=, sp=, zero=, zero-group="
layout ep=2 "--layout ep=2: ep=2 divides experts among ranks, but this model has no experts"
layout dp=4,ep=2 "ep=2 divides experts among ranks, but this model has no experts"
layout ep=0 "ep=0 is not valid; expected a number from 1 to"
layout pp=2,schedule=none "schedule=none is not valid; expected one of: gpipe, 1f1b, interleaved, zero-bubble"
layout pp=2,virtual-stages=2 "use schedule=interleaved or virtual-stages=1"
layout tp=2,tp=3 "tp is given twice"
layout sp=on "sp=on without tp.*add tp=2"
layout tp=0 "tp=0 is not valid; expected a number from 1 to"
layout zero=4 "zero=4 is not valid; expected a number from 0 to 3"
layout dp=x "dp=x is not valid; expected a number from 1 to"
layout pp=5 "pp=5 needs at least 5 units; the model has 4 .*at most pp=4"
layout tp=3 "tp=3 does not fit 4 query heads .*; use tp=2 or tp=4"
layout dp=4,zero=1,zero-group=3 "zero-group=3 does not divide dp=4"
layout zero-group=1 "zero-group has no effect without zero"
layout dp=40000,tp=40000 "too many ranks"
expect_absent refused

# What is there stays, but for a checkpoint that may be overwritten: its own place too.
expect_exit 3 reshard "$source" "to dp=1" --layout dp=2; expect_match stderr "already exists.*--overwrite"
expect_exit 0 reshard "$source" "to dp=1" --layout dp=2 --overwrite
expect_exit 0 dt-checkpoint show "to dp=1"; expect_match stdout "dp=2"
mkdir folder
expect_exit 3 reshard "$source" folder --layout dp=2 --overwrite; expect_match stderr "is not a checkpoint"
for _ in 1 2 3; do echo '{"time":"2026-01-01T00:00:00Z","reason":"damaged"}' >>"$source.failed-loads.jsonl"; done
expect_exit 0 reshard "$source" "$source" --layout tp=2 --overwrite
expect_absent "$source.failed-loads.jsonl" # of what lay there before
expect_exit 0 dt-checkpoint diff "$source" "to dp=1"

# Sources that are none, or damaged.
expect_exit 3 reshard nowhere refused --layout dp=2; expect_match stderr "nowhere"
dropped=$(make dropped 10 drop=layers.0.mlp.up.bias)
expect_exit 3 reshard "$dropped" refused --layout dp=2; expect_match stderr "layers.0.mlp.up.bias is missing"
damaged=$(make damaged 10)
printf 'xxxx' | dd of="$damaged/rank-00000.h5" bs=1 seek=40000 conv=notrunc status=none
expect_exit 3 reshard "$damaged" refused --layout dp=2; expect_match stderr "rank-00000.h5: .*digest"
expect_absent refused
expect_equal "$(find . -name '.*tmp*')" "" "hidden folders"

# In bounded memory, whatever the size: tensors of 96 MB, 288 in all.
large=$(make large 10 vocabulary=1000000)
bounded() { (
  ulimit -v 262144 # KiB of address space, libraries included
  reshard "$@"
); }
expect_exit 0 bounded "$large" across --layout tp=2,dp=2,zero=3
expect_exit 0 bounded across back --layout dp=1
expect_exit 0 dt-checkpoint diff --quiet "$large" back

# A signal ends it, and nothing is left.
dt-checkpoint reshard --quiet "$large" stopped --layout dp=4 2>stderr &
tool=$!
for _ in $(seq 200); do
  [[ -n $(find . -path './.stopped.tmp-*/rank-*') ]] && break
  sleep 0.02
done
kill -TERM "$tool"
code=0
wait "$tool" || code=$?
expect_equal "$code" 143
expect_match stderr "stopped by SIGTERM"
expect_equal "$(find . -maxdepth 1 -name '*stopped*')" ""
