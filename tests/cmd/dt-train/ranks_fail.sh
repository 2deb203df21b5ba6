#!/usr/bin/env bash
# When a rank is lost, stops answering or fails, the whole job ends soon, with a message that names it, and no process stays.
source "$(dirname "${BASH_SOURCE[0]}")/../lost_ranks.sh"
make_shards shards

# A killed rank, any of them.
forever=(--steps 1000000 --schedule constant --grad-lanes 4)
for victim in 1 2 3; do
  start 3 "killed$victim" "${forever[@]}" --save-every 50
  kill -KILL "$(nth "$victim")"
  expect_over "SIGKILL of rank $victim"
  [[ $code != 0 ]] || fail "exit 0 after a killed rank"
done
# A killed launcher.
start 2 orphans "${forever[@]}"
kill -KILL "$launcher"
expect_over "SIGKILL of the launcher"

# A rank that stops answering is named by those that wait for it; the evidence stays.
for victim in 1 3; do
  start 3 "stopped$victim" "${forever[@]}" --comm-timeout 3s
  kill -STOP "$(nth "$victim")"
  expect_over "SIGSTOP of rank $((victim - 1))"
  expect_equal "$code" 4 "exit"
  expect_match launcher.err "rank $((victim - 1)) on $(hostname) .*silent"
  expect_match launcher.err 'all_reduce [0-9]+ .*step [0-9]+'
  evidence=$(find "stopped$victim/flight" -name '*.jsonl' | head -n 1)
  [[ -s $evidence ]] || fail "no evidence in flight/"
  while read -r line; do python3 -c 'import json, sys; json.loads(sys.argv[1])' "$line"; done < <(head -n 5 "$evidence")
done

# A signal to one rank stops all, after a save at the same step.
start 3 signal "${forever[@]}"
kill -USR1 "$(nth 2)"
expect_over "SIGUSR1 to a rank"
expect_equal "$code" 75 "exit after SIGUSR1"
step=$(losses signal | tail -n 1 | cut -d' ' -f1)
[[ -d signal/checkpoints/$(printf 'step-%08d.g1' "$step") ]] || fail "no checkpoint of step $step"

# Ranks that were not given the same: said once, naming host and what differs.
arguments differ --quiet --steps 5
expect_exit 2 mpi 1 dt-train "${train_args[@]}" --weight-decay 0.1 : -n 1 dt-train "${train_args[@]}" --weight-decay 0.2
expect_equal "$(grep -c 'error' stderr)" 1 "messages"
expect_match stderr "--weight-decay: '0.1' on $(hostname) \(rank 0\), '0.2' on"
# The layout decides which ranks communicate: a difference is reported before any of them do.
while IFS='|' read -r message first other; do
  read -ra first <<<"$first"
  read -ra other <<<"$other"
  expect_exit 2 timeout 60 "${launch[@]}" -n 1 dt-train "${train_args[@]}" "${first[@]}" : -n 2 dt-train "${train_args[@]}" "${other[@]}" </dev/null
  expect_equal "$(grep -c 'error: ' stderr)" 1 "messages of ${first[*]} and ${other[*]}"
  expect_match stderr "$message"
done <<'WAYS'
disagree about --tp: '1'.* '2'|--tp 1|--tp 2
disagree about --tp: '2'.* '1'|--tp 2|--pp 2
this layout needs 4 ranks .tp 4.; 3 were started; use --tp 2, or start 4 ranks|--tp 2|--tp 4
disagree about --sequence-parallel|--tp 2|--tp 2 --sequence-parallel
disagree about --tp-overlap-chunks|--tp 2|--tp 2 --tp-overlap-chunks 2
disagree about --placement|--tp 2|--tp 2 --placement launcher
WAYS
expect_absent differ
mkdir a b
make_shards a/shards
seq 1 40000 | dt-shard-data --quiet --out b/shards --val-fraction 0.2 - >/dev/null
expect_exit 3 mpi 1 -wdir a dt-train "${train_args[@]}" : -n 1 -wdir b dt-train "${train_args[@]}"
expect_match stderr 'digest of --data'
rm -r b/shards
cp -r a/shards b
expect_exit 4 mpi 1 -wdir a dt-train "${train_args[@]}" : -n 1 -wdir b dt-train "${train_args[@]}"
expect_match stderr "rank 1 on $(hostname): .* does not see differ/generations/0001.json"
# The same command, another model in the file, or other weights.
rm -r b/shards && cp -r a/shards b
for eps in a:1e-5 b:1e-1; do
  echo '{"model_type": "llama", "vocab_size": 257, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": '"${eps#*:}}" >"${eps%:*}/config.json"
done
both=(--data shards --sequence-length 32 --steps 2 --threads 1)
expect_exit 3 mpi 1 -wdir a dt-train "${both[@]}" --model config.json --run models \
  : -n 1 -wdir b dt-train "${both[@]}" --model config.json --run models
expect_match stderr 'ranks disagree about the model'
for seed in a:1 b:2; do
  (cd "${seed%:*}" && dt-train --quiet "${both[@]}" --model llama-tiny --run seeds --seed "${seed#*:}" >/dev/null &&
    dt-merge --quiet "$(dt-checkpoint latest seeds)" --out weights)
done
for what in "--steps 2 --run start" --eval-only; do
  read -ra what <<<"--data shards --sequence-length 32 --threads 1 --init-from weights $what"
  expect_exit 3 mpi 1 -wdir a dt-train "${what[@]}" : -n 1 -wdir b dt-train "${what[@]}"
  expect_match stderr 'ranks disagree about the digest of the weights'
done
cp "$(command -v dt-train)" other-build
printf x >>other-build
expect_exit 3 mpi 1 dt-train "${train_args[@]}" : -n 1 ./other-build "${train_args[@]}"
expect_match stderr 'the program'
expect_absent differ

# What fails on all ranks is said once, and on one rank by that one.
expect_exit 3 train_as mpi=3 failing --steps 5 --data nowhere
expect_equal "$(grep -c 'error: ' stderr)" 1 "messages"
expect_exit 2 train failing --comm threads=0 --steps 5
expect_exit 2 train failing --comm sockets --steps 5
expect_match stderr 'allowed: self, threads=N'
expect_exit 2 mpi 3 dt-train --no-such-option
expect_equal "$(grep -c 'error: ' stderr)" 1 "messages about a wrong option"
expect_exit 2 mpi 3 dt-train --data shards --run failing --steps 5 --logits-out x
expect_equal "$(grep -c 'error: ' stderr)" 1 "messages about options that do not fit"
expect_exit 0 mpi 3 dt-train --version
expect_equal "$(wc -l <stdout)" 1 "lines of --version"
