#!/usr/bin/env bash
# When a pipeline loses a rank, or one stops answering or fails, all end soon, told which stage it was and what of the model it holds.
source "$(dirname "${BASH_SOURCE[0]}")/../lost_ranks.sh"
make_shards shards
forever=(--steps 1000000 --schedule constant --grad-lanes 4 --pp 2)
# Of four units.
first='stage 0 of 2: embedding to layers\.0' second='stage 1 of 2: layers\.1 to head'

# A killed rank: the launcher names it (MPICH's its process, on stdout), and the start has said what it holds.
start 4 killed "${forever[@]}"
kill -KILL "$(nth 4)"
expect_over "SIGKILL of rank 3"
# shellcheck disable=SC2154
[[ $code != 0 ]] || fail "exit 0 after a killed rank"
cat launcher.out >>launcher.err
names="rank 3 .*signal 9"
[[ ${DT_MPI:-openmpi} == openmpi ]] || names="Killed \(signal 9\)"
expect_match launcher.err "$names"
expect_match launcher.err "ranks 0 to 1: $first$"
expect_match launcher.err "ranks 2 to 3: $second$"
# One that only sits out takes the others along, as any lost rank does.
start 3 sitting "${forever[@]}"
kill -KILL "$(nth 3)"
expect_over "SIGKILL of a rank that sits out"
[[ $code != 0 ]] || fail "exit 0 after a killed rank that sat out"

# A rank that stops answering, of either stage, of two pipelines and beside one that sits out. Whoever waits says so, and in what: it
# stopped at any moment of a step, so rank 0 may miss its gradients, be unable to send it more, or wait for it at the step's end.
for way in "4 2 $first" "3 2 $second"; do
  read -r ranks victim stage <<<"$way"
  start "$ranks" "stopped$ranks$victim" "${forever[@]}" --comm-timeout 3s
  kill -STOP "$(nth "$victim")"
  expect_over "SIGSTOP of rank $((victim - 1))"
  expect_equal "$code" 4 "exit"
  expect_match launcher.err "rank $((victim - 1)) on $(hostname) \(process [0-9]*, $stage\) is silent"
done
expect_match launcher.err "error: rank 0 on $(hostname) \($first\): (receive [0-9]+ from rank 1|send [0-9]+ to rank 1|all_reduce [0-9]+) of group .* did not complete within 3\.0 s: rank 1 "
expect_match "$(find stopped32/flight -name '*.jsonl' | head -n 1)" '"duty":"stage [01] of 2: '

# Data that one rank cannot read, at the start and at a step.
mkdir a b
cp -r shards a && cp -r shards b
size=$(stat -c %s b/shards/train-00000.h5)
printf '\xff' | dd of=b/shards/train-00000.h5 bs=1 seek=$((size / 2)) conv=notrunc status=none
arguments "$PWD/unreadable" --quiet --steps 1000 --pp 2
expect_exit 3 mpi 1 -wdir a dt-train "${train_args[@]}" : -n 1 -wdir b dt-train "${train_args[@]}"
expect_match stderr "error: rank 1 on $(hostname) \($second\): .*train-00000.h5"
# Weights that one rank cannot read.
train base --quiet --steps 2 >/dev/null || fail "a run"
dt-merge --quiet "$(dt-checkpoint latest base)" --out weights >/dev/null || fail "dt-merge"
cp -r weights a && cp -r weights b
truncate -s -5000 b/weights/model.safetensors
arguments "$PWD/weightless" --quiet --steps 5 --pp 2 --init-from weights
expect_exit 3 mpi 1 -wdir a dt-train "${train_args[@]}" : -n 1 -wdir b dt-train "${train_args[@]}"
expect_match stderr "error: rank 1 on $(hostname): .*model.safetensors" # read before the stages are known
expect_equal "$(grep -c 'error: ' stderr)" 1 "messages"

# What is not finite is told with the unit where it comes up first, whatever rank has it.
# spoil TENSOR VALUE: the second number of a copy's tensor.
spoil() {
  rm -rf spoilt && cp -r weights spoilt
  python3 - "$@" <<'PYTHON'
import json, struct, sys
path = "spoilt/model.safetensors"
with open(path, "r+b") as file:
    (header_bytes,) = struct.unpack("<Q", file.read(8))
    begin = json.loads(file.read(header_bytes))[sys.argv[1]]["data_offsets"][0]
    file.seek(8 + header_bytes + begin + 4)
    file.write(struct.pack("<f", float(sys.argv[2])))
PYTHON
}
# first_non_finite UNIT RANK KIND OPTIONS...
not_finites=0
not_finite() {
  expect_exit 3 train_as "$3" "not_finite$((++not_finites))" --quiet --steps 3 --init-from spoilt "${@:4}"
  expect_match stderr "gradient norm .*: not finite \(first in the output of $1 on rank $2, samples [0-9]* to [0-9]*\)"
  expect_equal "$(grep -c 'error: ' stderr)" 1 "messages"
}
spoil model.layers.1.mlp.up_proj.weight nan
not_finite layers.1 0 self
not_finite layers.1 1 threads=2 --pp 2
not_finite layers.1 2 mpi=4 --pp 2 --zero 1
not_finite layers.1 1 threads=2 --pp 2 --pp-schedule zero-bubble --stage-units 1,3
spoil model.layers.0.self_attn.o_proj.weight inf
not_finite layers.0 0 threads=2 --pp 2
not_finite layers.0 1 threads=4 --pp 4 --pp-schedule gpipe --recompute full
not_finite layers.0 1 threads=2 --pp 2 --pp-schedule zero-bubble --virtual-stages 2
spoil model.norm.weight nan
not_finite head 3 threads=4 --pp 4
not_finite head 0 threads=2 --pp 2 --pp-schedule zero-bubble --virtual-stages 2
