#!/usr/bin/env bash
# --checkpoint-local on one host: a start resumes from what was saved on the node alone, bit for bit; what of it is damaged or gone is reported; a
# run that ends in good order leaves nothing behind. (Several nodes: tests/slurm/cases/local_checkpoints.sh, faults_local_kills.sh.)
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards

steps=(--schedule constant --warmup-steps 0)
local_saves=(--save-every 2 --checkpoint-local local --flush-every 1000)
# shares: of all runs and hosts.
shares() { find local -mindepth 4 -maxdepth 4 -name 'step-*' 2>/dev/null | sort; }
newest_local() { sed -nE 's/.*"kind":"local_checkpoint","step":([0-9]+),.*/\1/p' "$1/metrics.jsonl" | tail -n 1; }
num_locals() { { grep -s '"kind":"local_checkpoint"' "$1/metrics.jsonl" || true; } | wc -l; }
# kill_after_locals RUN COUNT OPTIONS...: SIGKILL once it has announced so many more.
kill_after_locals() {
  local run=$1 before tries
  before=$(num_locals "$run")
  start_training "$run" "${steps[@]}" "${@:3}" --steps 1000000
  for ((tries = 0; tries < 1200; ++tries)); do
    if (($(num_locals "$run") >= before + $2)); then break; fi
    sleep 0.02
  done
  # shellcheck disable=SC2154
  kill -KILL "$trainer"
  wait "$trainer" 2>/dev/null || true
}

# Which saves go where, and that both are announced.
expect_exit 0 train cadence "${steps[@]}" --steps 13 --save-every 2 --checkpoint-local local --flush-every 3
expect_equal "$(sed -nE 's/.*"kind":"local_checkpoint","step":([0-9]+),.*/\1/p' cadence/metrics.jsonl | tr '\n' ' ')" "2 4 8 10 "
expect_equal "$(sed -nE 's/.*"kind":"checkpoint","step":([0-9]+),.*/\1/p' cadence/metrics.jsonl | tr '\n' ' ')" "6 12 13 "
expect_match cadence/metrics.jsonl '"kind":"local_checkpoint","step":2,"path":"local/dt-local-[0-9]+/cadence-[0-9a-f]{16}/.*/step-00000002.g1","bytes":[0-9]+,.*"nodes":1'
expect_match stderr 'all ranks are on one node: local checkpoints have no copy on another'
expect_match stderr 'saved local/.*/step-00000002.g1 on this node only'
expect_equal "$(shares)" "" "shares of a run that has ended"

# Killed before anything is in the run directory; the newest share alone is left on the node, and no tool takes it for a checkpoint.
kill_after_locals run 5 "${local_saves[@]}"
from=$(newest_local run)
[[ -d run/checkpoints ]] || fail "no run directory"
expect_equal "$(find run/checkpoints -mindepth 1 ! -name '.*')" "" "what was saved in the run directory"
(($(shares | wc -l) <= 2)) || fail "older shares stay: $(shares)"
share=$(shares | tail -n 1)
expect_exit 3 dt-checkpoint latest run
expect_exit 5 dt-checkpoint verify "$share"
expect_match stdout 'is not a checkpoint'
cp -r run run.killed && cp -r local local.killed
end=$((from + 6))
expect_exit 0 train run "${steps[@]}" "${local_saves[@]}" --steps "$end"
expect_match stderr 'assembled run/checkpoints/step-[0-9]+.g1 from the local checkpoints of the nodes'
resumed=$(sed -nE 's/.*"kind":"resume","reason":"checkpoint","step":([0-9]+),.*/\1/p' run/metrics.jsonl)
((resumed >= from)) || fail "went on from step $resumed, step $from was announced"
expect_exit 0 dt-checkpoint verify run/checkpoints/*
expect_exit 0 train whole "${steps[@]}" --steps "$end"
expect_same_model whole run
expect_equal "$(digest_of run)" "$(digest_of whole)" "data digests"
expect_equal "$(shares)" "" "shares of a run that has ended"

# again: the run as it was when it was killed.
again() {
  rm -rf run local
  cp -r run.killed run
  cp -r local.killed local
}

# With more ranks, and without --model: the share knows it.
again
expect_exit 0 mpi 2 dt-train --run run --data shards --sequence-length 32 --micro-batch 2 --lr 1e-3 --threads 1 --eval-batches 1 \
  "${steps[@]}" "${local_saves[@]}" --steps "$end"
expect_match stderr "resuming from run/checkpoints/step-0*$resumed.g1"

# Damaged, gone, or not asked for: never in silence from an older one, and never anew.
again
share=$(shares | tail -n 1)
printf 'x' | dd of="$share/rank-00000.h5" bs=1 seek=20000 conv=notrunc status=none
mv "$share" kept && rm -rf "$(dirname "$share")"/step-* && mv kept "$share"
expect_exit 3 train run "${steps[@]}" "${local_saves[@]}" --steps "$end"
expect_match stderr "skipping run/checkpoints/step-0*$resumed.g1: files of rank 0: .*digest"
expect_match stderr "none of the run's 1 checkpoint can be loaded"
[[ -z $(ls -A run/checkpoints) ]] || fail "a damaged share has left something"
again
rm -rf local
expect_exit 3 train run "${steps[@]}" "${local_saves[@]}" --steps "$end"
expect_match stderr "skipping run/checkpoints/step-0*$from.g1: step [0-9]* was saved as a local checkpoint only: no node of this job holds any of it"
again
expect_exit 4 train run "${steps[@]}" --steps "$end"  # forgetting it costs nothing
expect_match stderr "step $from was saved as a local checkpoint only: .*set --checkpoint-local to the folder"
again
expect_exit 4 train run "${steps[@]}" "${local_saves[@]/#local/elsewhere}" --steps "$end"  # nor does another folder
expect_match stderr "the local checkpoint of step $from was saved under local, but elsewhere does not hold it"
again
mv local kept && touch local  # nor does storage that is not there
expect_exit 4 train run "${steps[@]}" "${local_saves[@]}" --steps "$end"
rm local && mv kept local
expect_equal "$(cd run/generations && ls ./*.json)" ./0001.json "generations claimed without the nodes' storage"
expect_exit 0 train run "${steps[@]}" "${local_saves[@]}" --steps "$end" --resume never
expect_match stderr "the first save removes the local checkpoint of step [0-9]*"
expect_equal "$(shares)" "" "shares of older generations"
expect_exit 0 train run "${steps[@]}" "${local_saves[@]}" --steps 3 --resume never
if grep -q "removes the local checkpoint" stderr; then fail "what is on no node goes with the first save"; fi

# A start resumes from an older one in the run directory if the newer is lost, and records that.
expect_exit 75 timeout --preserve-status --signal=TERM 3 dt-train --run mixed --model llama-tiny --data shards --sequence-length 32 --threads 1 --quiet \
  --peak-flops 1e9 --eval-batches 1 "${steps[@]}" "${local_saves[@]}" --steps 1000000
expect_equal "$(shares)" "" "shares after a request to stop"
kill_after_locals mixed 3 "${local_saves[@]}"
rm -rf local
shared=$(basename "$(dt-checkpoint latest mixed)")
lost=$(newest_local mixed)
expect_exit 0 train mixed "${steps[@]}" "${local_saves[@]}" --steps "$((lost + 1))"
expect_match stderr "skipping mixed/checkpoints/step-0*$lost.g2: step [0-9]* was saved as a local checkpoint only"
expect_match stderr "resuming from mixed/checkpoints/$shared"
expect_match mixed/metrics.jsonl "\"kind\":\"resume\".*\"checkpoint\":\"$shared\",\"passed_over\":\[\{\"path\":\"mixed/checkpoints/step-0*$lost.g2\""
# What a generation saved after the next one left it is never taken.
again
generation=$(cat run/generations/0001.json)
expect_exit 0 train run "${steps[@]}" --steps 3 --resume never
sed 's/"generation": 1,/"generation": 3,/; s/"continues": ""/"continues": "step-00000003.g2"/; s/"continues_step": 0/"continues_step": 3/' \
  <<<"$generation" >run/generations/0003.json
expect_exit 0 train run "${steps[@]}" "${local_saves[@]}" --steps 5
expect_match stderr 'resuming from run/checkpoints/step-00000003.g2'

# Bad usage, and a folder that is none.
for wrong in "--checkpoint-local local" "--save-every 2 --flush-every 3" "--save-every 2 --checkpoint-local local --flush-every 0" \
  "--save-every 2 --checkpoint-local="; do
  # shellcheck disable=SC2086
  expect_exit 2 train wrong "${steps[@]}" --steps 4 $wrong
done
expect_exit 2 dt-train --eval-only --run run --data shards --checkpoint-local local
touch file
expect_exit 4 train wrong "${steps[@]}" --steps 4 --save-every 2 --checkpoint-local file
expect_match stderr 'file.*Not a directory'

# Hosts of one name pass for one node, but each has storage of its own: that is named.
if unshare --mount true 2>/dev/null; then
  mkdir own
  arguments twins "${steps[@]}" --steps 2 --checkpoint-local own --save-every 1
  # shellcheck disable=SC2016
  expect_exit 4 mpi 2 unshare --mount bash -c 'mount -t tmpfs none own && exec "$@"' bash dt-train "${train_args[@]}"
  expect_match stderr "ranks 0 and 1 both have the host name '$(hostname)', but the second does not see own/.*give each node its own host name"
fi
