#!/usr/bin/env bash
# --show-schedule: what ranks do in a step, drawn, listed and as JSON.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards

model=llama-tiny
# show RANKS [options]
show() {
  local ranks=$1
  shift
  dt-train --model "$model" --data shards --sequence-length 32 --steps 1 --comm "threads=$ranks" --show-schedule "$@"
}

# One stage: the drawing, then rank 0's list.
expect_exit 0 show 2 --zero 3
expect_match stdout '^stage 0 \|.*F.*B'
expect_match stdout '^gather +layers.0 '
expect_equal "$(tail -n 1 stdout)" step
expect_match stdout 'more actions; --verbose or --json shows all'
expect_exit 0 show 2 --zero 3 --verbose
expect_equal "$(grep -c 'more actions' stdout || true)" 0 "lists with --verbose"
expect_exit 0 show 2 --zero 3 --json
expect_match stdout '"action":"reduce","unit":"head","micro_batch":0,"bytes":[1-9]'
expect_equal "$(grep -c '"kind":"stage"' stdout)" 1 "stages"
expect_match stdout '"kind":"step","times":"predicted","step_s":[0-9.e-]+,"bubble":'

# Ranks that make up no whole pipeline would be idle, and fewer than one are refused.
expect_exit 0 show 3 --pp 2
expect_match stderr '1 of 3 ranks would be idle: each pipeline needs 2 ranks'
expect_equal "$(grep -o '^stage [0-9]* |' stdout | sort -u | wc -l)" 2 "rows"
expect_exit 2 show 3 --pp 4
expect_match stderr 'this layout needs 4 ranks \(pp 4\); 3 were started'

# Every schedule: a row and an object for each stage, a picture with a rectangle for each computation.
while read -r pp schedule virtual_stages layers; do
  sed "s/LAYERS/$layers/" >model.json <<'END'
{"model_type": "gpt2", "vocab_size": 300, "n_embd": 64, "n_layer": LAYERS, "n_head": 4, "n_positions": 128}
END
  model=model.json
  options=(--pp "$pp" --pp-schedule "$schedule" --virtual-stages "$virtual_stages" --global-batch 8)
  expect_exit 0 show "$pp" "${options[@]}" --svg "$schedule.svg"
  expect_equal "$(grep -o '^stage [0-9]* |' stdout | sort -u | wc -l)" "$pp" "rows of $schedule"
  expect_match stdout "^bubble: [0-9.]+ % of the busiest stage's compute time; [0-9.]+ % without communication time\$"
  expect_equal "$(grep -c '<rect ' "$schedule.svg")" "$((8 * 3 * (layers + 2)))" "computations of $schedule"
  expect_exit 0 show "$pp" "${options[@]}" --json
  expect_equal "$(grep -c '"kind":"stage"' stdout)" "$pp" "stages of $schedule"
done <<'END'
2 gpipe 1 6
4 1f1b 1 6
2 interleaved 2 6
4 zero-bubble 1 6
2 zero-bubble 2 6
END
expect_absent run

model=llama-tiny
# Ranks that share layers and divide sequences where they do not divide features: each sends its rows of what goes to the next stage, and
# gathers for its weights' gradients what it has but rows of.
sent_of() { sed -nE "s/.*\"action\":\"$1\",\"unit\":\"layers.0\",\"micro_batch\":0,.*\"bytes\":([0-9]+).*/\1/p" stdout | head -n 1; }
shared=(4 --tp 2 --pp 2 --json)
expect_exit 0 show "${shared[@]}"
whole=$(sent_of send)
expect_equal "$(sent_of backward_weight)" 0 "bytes of gradients of weights"
expect_exit 0 show "${shared[@]}" --sequence-parallel
expect_equal "$(sent_of send)" "$((whole / 2))" "bytes to the next stage"
expect_equal "$(($(sent_of backward_weight) > 0))" 1 "gathered for gradients of weights"
expect_equal "$(grep -c '"kind":"stage"' stdout)" 2 "stages"
# A slower link and a faster one.
step_s() { sed -nE 's/.*"kind":"step",.*"step_s":([0-9.e-]+).*/\1/p' stdout; }
expect_exit 0 show 2 --pp 2 --json --link-bandwidth 1e15
fast=$(step_s)
expect_exit 0 show 2 --pp 2 --json --link-bandwidth 1e6
awk -v fast="$fast" -v slow="$(step_s)" 'BEGIN {exit !(slow > 2 * fast)}' || fail "a slow link takes no time"

# After a run, by the times that it measured: of all stages' units, whatever the layout that is drawn.
expect_exit 3 show 1 --run run
expect_match stderr 'unit_times.json does not exist; a run on CPUs writes it when it finishes'
expect_exit 0 dt-train --model llama-tiny --data shards --sequence-length 32 --steps 4 --threads 1 --comm threads=2 --pp 2 --run run
expect_equal "$(grep -c '_weight_s' run/unit_times.json)" 4 "units that were measured"
for pp in 1 2 4; do
  expect_exit 0 show "$pp" --threads 1 --pp "$pp" --run run
  expect_match stdout '^predicted step time: .* \(compute times measured in run; '
  expect_exit 0 show "$pp" --threads 1 --pp "$pp" --run run --json
  expect_match stdout '"kind":"step","times":"measured","step_s":[0-9.e-]+,'
done
# The run knows its model.
expect_exit 0 dt-train --data shards --sequence-length 32 --steps 1 --threads 1 --show-schedule --run run
expect_match stdout 'compute times measured in run; '
# What was measured of other computations is not drawn.
other() {
  expect_exit 3 show 1 --run run "${@:2}"
  expect_match stderr "unit_times.json: $1"
}
other '--micro-batch was 1 in the measured run and is now 2; use the options of that run' --micro-batch 2
other '--precision was fp32 in the measured run and is now bf16' --precision bf16
other '--recompute was none in the measured run and is now selective' --recompute selective
other '--threads was 1 in the measured run and is now 2' --threads 2
other '--mask-documents was false in the measured run and is now true' --mask-documents
expect_exit 3 show 2 --run run --threads 1 --tp 2
expect_match stderr 'unit_times.json: --tp was 1 in the measured run and is now 2'
expect_exit 3 show 2 --run run --threads 1 --cp 2
expect_match stderr 'unit_times.json: --cp was 1 in the measured run and is now 2'
expect_exit 0 dt-train --model llama-tiny --data shards --sequence-length 32 --steps 4 --threads 1 --comm threads=2 --tp 2 --run shared
expect_exit 0 show 2 --run shared --threads 1 --tp 2
expect_exit 3 show 2 --run shared --threads 1 --tp 2 --sequence-parallel
expect_match stderr 'unit_times.json: --sequence-parallel was false in the measured run and is now true'
cat >as_many_units.json <<'END'
{"model_type": "gpt2", "vocab_size": 300, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128}
END
model=as_many_units.json
other "the model's family was llama and is now gpt2"
model=llama-tiny
expect_exit 2 show 1 --run run --rank-flops 1e9

# Where they cannot be written, the run ends as it would.
mkdir -p kept/unit_times.json/not_empty
expect_exit 0 dt-train --model llama-tiny --data shards --sequence-length 32 --steps 4 --run kept
expect_match stderr 'warning: cannot write the unit times: .*unit_times.json'
expect_match kept/metrics.jsonl '"kind":"stop","reason":"finished"'

# What cannot be written says so, and leaves nothing.
mkdir taken
expect_exit 4 show 1 --svg taken
expect_equal "$(find . -name '*taken*')" ./taken "what is left"

if ! command -v xmllint >/dev/null && ! python3 -c 'import xml.dom.minidom' 2>/dev/null; then
  echo "skipped: neither xmllint nor python3 is here to read the pictures"
  exit 77
fi
for picture in *.svg; do
  if command -v xmllint >/dev/null; then
    xmllint --noout "$picture" || fail "$picture is no XML"
  else
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$picture" || fail "$picture is no XML"
  fi
done
