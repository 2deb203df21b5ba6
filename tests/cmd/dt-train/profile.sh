#!/usr/bin/env bash
# Profiles: what each rank did in a step, each action of its list once, on clocks that agree; on the CPU and on a device.
source "$(dirname "${BASH_SOURCE[0]}")/../device.sh"
make_shards shards
small_model small.json llama
small=(--model small.json --sequence-length 16 --global-batch 4 --micro-batch 1)

# check_profiles RUN STEP.gN RANKS DEVICE: one file a rank, drawn as FORMATS.md says; prints the first rank's row of computing.
check_profiles() {
  python3 - "$@" <<'PYTHON'
import collections, glob, json, sys
run, step, ranks, device = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
files = sorted(glob.glob(f"{run}/profile/step-{step}.rank-*.json"))
assert len(files) == ranks, files
kinds = "forward backward_input backward_weight discard recompute gather free reduce send receive control step".split()
sent, received = collections.Counter(), collections.Counter()
begun = []
for rank, path in enumerate(files):
    trace = json.load(open(path))
    assert (trace["format"], trace["version"]) == ("dt-profile", 1)
    assert trace["otherData"]["rank"] == rank and trace["otherData"]["clock_error_us"] < 1e6
    rows, spans = {}, collections.defaultdict(list)
    for event in trace["traceEvents"]:
        assert event["pid"] == rank
        if event["name"] == "thread_name":
            rows[event["tid"]] = event["args"]["name"]
        if event["ph"] == "X":
            spans[rows[event["tid"]]].append(event)
    [whole] = spans["step"]
    begun.append(whole["ts"])
    end = lambda event: event["ts"] + event["dur"]
    for name, row in spans.items():
        assert all(end(a) <= b["ts"] + 1e-4 for a, b in zip(row, row[1:])), name
        assert all(whole["ts"] - 100 <= e["ts"] and end(e) <= end(whole) + 100 and e["dur"] >= 0 for e in row), name
    assert sum(e["dur"] for e in spans["computing"]) <= whole["dur"]
    assert ("enqueuing" in spans) == (device == "device")
    actions = spans["enqueuing"] if device == "device" else spans["computing"]
    assert [e["name"] for e in actions] == [e["name"] for e in spans["computing"]]
    assert all(e["cat"] in kinds for e in actions)
    count = collections.Counter(e["cat"] for e in actions)
    assert count["control"] == count["step"] == 1
    what = [(e["name"], e["args"].get("micro_batch")) for e in actions if e["cat"] in kinds[:3]]
    assert len(what) == len(set(what)) and count["backward_input"] == count["backward_weight"], what
    assert count["forward"] == count["backward_input"], count
    sent.update(e["name"].split(" ", 1)[1] for e in actions if e["cat"] == "send")
    received.update(e["name"].split(" ", 1)[1] for e in actions if e["cat"] == "receive")
    if ranks > 1:
        groups = [e for name, row in spans.items() if name.startswith("group ") for e in row]
        assert groups and all(e["args"]["bytes"] >= 0 and e["args"]["sequence"] >= 1 for e in groups)
        assert any(e["cat"] == "exposed_communication" for e in spans["waiting"])
assert sent == received and bool(sent) == ("pp=2" in trace["otherData"]["layout"]), (sent, received)
assert max(begun) - min(begun) < 5e6
PYTHON
}

# One rank; several steps, and those alone; the bits are the same.
expect_exit 0 train one "${small[@]}" --steps 4 --profile 2-3
check_profiles one 00000002.g1 1 cpu
check_profiles one 00000003.g1 1 cpu
expect_equal "$(find one/profile -type f | wc -l)" 2 "files"
expect_match stderr 'profile of step 2, rank 0: [0-9.e-]+ s: forward [0-9.]+ %, .*control [0-9.]+ %, step .*exposed communication [0-9.]+ %, waiting for data .* %, other host work .* % \(one/profile\)'
train plain "${small[@]}" --steps 4 2>stderr
expect_absent plain/profile
[[ $(cat stderr) != *profile* ]] || fail "a profile without --profile"
expect_same_model one plain

# Ranks: pipelines as processes and as threads, weights that are gathered, layers that are shared.
expect_exit 0 train_as mpi=2 pipeline "${small[@]}" --steps 3 --pp 2 --profile 3
check_profiles pipeline 00000003.g1 2 cpu
expect_match stderr 'profile of step 3, rank 0: .*receive .*\(pipeline/profile, clocks within [0-9]+ µs\)'
grep -q 'rank 1 on .*, stage 1 of 2: ' pipeline/profile/step-00000003.g1.rank-00001.json || fail "a rank's stage"
expect_exit 0 train_as threads=4 mixed "${small[@]}" --steps 2 --pp 2 --tp 2 --recompute full --profile 2
check_profiles mixed 00000002.g1 4 cpu
expect_exit 0 train_as threads=2 zero "${small[@]}" --steps 2 --zero 3 --profile 2
check_profiles zero 00000002.g1 2 cpu
grep -q '"cat":"gather"' zero/profile/*.rank-00001.json || fail "gathers of ZeRO 3"

# On a device the host enqueues and the device computes.
on_device expect_exit 0 train device "${small[@]}" --steps 3 --profile 2
check_profiles device 00000002.g1 1 device
expect_match stderr 'profile of step 2, rank 0: .*forward .*idle GPU [0-9.]+ %; host: enqueuing [0-9.]+ %'
on_device expect_exit 0 train device-plain "${small[@]}" --steps 3
expect_same_model device device-plain
on_device expect_exit 0 train_as threads=2 device-ranks "${small[@]}" --steps 2 --pp 2 --profile 2
check_profiles device-ranks 00000002.g1 2 device

# Each action has a name for tools that listen, whether a step is profiled or not; without a listener it has none.
if [[ -z ${DT_GPU_TRAIN:-} ]]; then
  DT_TEST_DEVICE_RANGES=$PWD/ranges on_device expect_exit 0 train heard "${small[@]}" --steps 2
  expect_match ranges '^0 are open, at most 1 in each other$'
  expect_equal "$(grep -c '^forward(unit 0, micro-batch 3)$' ranges)" 2 "names of forwards in two steps"
  expect_equal "$(grep -c '^step$' ranges)" 2 "names of optimizer steps"
fi

# A resume: steps to come are profiled, in files of its own; of steps that are past nothing is made, and nothing fails.
expect_exit 0 train one "${small[@]}" --steps 6 --profile 3-5
check_profiles one 00000005.g2 1 cpu
expect_equal "$(find one/profile -name '*.g2.*' | wc -l)" 1 "files of the resume"
expect_exit 0 train one "${small[@]}" --steps 7 --profile 3-5
expect_match stderr 'warning: --profile 3-5 has no effect: the run has passed these steps'
expect_equal "$(find one/profile -type f | wc -l)" 3 "files"

# What cannot be written costs the training nothing.
touch plain/profile
expect_exit 0 train plain "${small[@]}" --steps 5 --profile 5
expect_match stderr 'warning: the profile of step 5 is incomplete: rank 0 on .*plain/profile'
expect_equal "$(losses plain | wc -l)" 5 "steps"

for value in 0 x 3-2 1-2-3 -1; do
  expect_exit 2 train refused "${small[@]}" --steps 4 --profile="$value"
  expect_match stderr "error: --profile '$value' is not a range of steps; expected a step, such as 10"
done
expect_exit 2 train refused "${small[@]}" --steps 4 --profile 3-5
expect_match stderr 'error: --profile 3-5: the run ends with step 4'
expect_absent refused/profile
