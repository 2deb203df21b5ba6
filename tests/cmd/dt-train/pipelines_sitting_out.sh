#!/usr/bin/env bash
# Ranks that make up no whole pipeline sit out, told: they end with the others, whatever ends those, and what their nodes hold of a
# run is not lost.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
make_shards shards
at_exit() {
  [[ -z ${launcher:-} ]] || { ranks_of "$launcher"; echo "$launcher"; } | xargs -r kill -KILL 2>/dev/null || true
}
common=(--schedule constant --warmup-steps 0 --grad-lanes 4)
train whole "${common[@]}" --quiet --steps 30 >/dev/null || fail "one rank"

# expect_told PP RANKS: in stderr, once, how many of them sit out.
expect_told() { expect_equal "$(grep -c "warning: 1 of $2 ranks is idle: each pipeline needs $1 ranks" stderr)" 1 "warnings"; }
for kind in threads=3 mpi=3; do
  expect_exit 0 train_as "$kind" "$kind" "${common[@]}" --steps 10 --pp 2 --eval-every 5
  expect_told 2 3
  expect_exit 0 train_as "$kind" "$kind" "${common[@]}" --steps 30 --pp 2
  expect_same_model whole "$kind"
  expect_exit 0 train_as "$kind" "$kind" "${common[@]}" --steps 30 --pp 2 # nothing is left to do
  expect_match stderr 'nothing is left to do'
  expect_exit 3 train_as "$kind" failing --steps 5 --pp 2 --init-from nowhere
  expect_equal "$(grep -c 'error: ' stderr)" 1 "messages of ranks that fail together"
done

# A signal to any that takes part stops all.
for signal in USR1 TERM; do
  start_ranks 3 "$signal" "${common[@]}" --steps 1000000 --pp 2
  wait_for_step "$signal" 3
  kill "-$signal" "$(ranks_of "$launcher" | sed -n 2p)"
  code=0
  wait "$launcher" || code=$?
  expect_equal "$code" 75 "exit after SIG$signal"
  step=$(losses "$signal" | tail -n 1 | cut -d' ' -f1)
  [[ -d $signal/checkpoints/$(printf 'step-%08d.g1' "$step") ]] || fail "no checkpoint of step $step"
done

# Four nodes that save on themselves are killed, and one loses what it held: what the node of the rank that now sits out has alone is
# brought in, and is gone from all of them once the run has ended.
unshare --uts --mount true 2>/dev/null || skip "no names of hosts and no mounts may be changed here"
mkdir local disks disks/{0..3}
cat >on_node.sh <<'NODE'
exec unshare --uts --mount bash -c 'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK} && hostname node$rank && mount --bind disks/$rank local && exec dt-train "$@"' \
  dt-train "$@"
NODE
newest_local() { sed -nE 's/.*"kind":"local_checkpoint","step":([0-9]+),.*/\1/p' run/metrics.jsonl 2>/dev/null | tail -n 1; }
arguments run "${common[@]}" --save-every 2 --checkpoint-local local --flush-every 1000
"${launch[@]}" -n 4 bash on_node.sh "${train_args[@]}" --steps 1000000 --zero 1 >/dev/null 2>launcher.err </dev/null &
launcher=$!
for ((tries = 0; tries < 600; ++tries)); do
  (($(newest_local) + 0 < 6)) || break
  sleep 0.05
done
kill -KILL "$(ranks_of "$launcher" | sed -n 2p)"
wait "$launcher" || true
announced=$(newest_local)
((announced >= 6)) || fail "no local checkpoint: $(cat launcher.err)"
[[ -d run/checkpoints ]] || fail "no run directory"
expect_equal "$(find run/checkpoints -mindepth 1 ! -name '.*')" "" "what was saved in the run directory"
rm -r disks/0/*
steps=$((announced + 10))
expect_exit 0 mpi 4 bash on_node.sh "${train_args[@]}" --steps "$steps" --pp 3
expect_told 3 4
expect_match stderr 'assembled run/checkpoints/step-[0-9]+.g1 from the local checkpoints of the nodes'
resumed=$(sed -nE 's/.*"kind":"resume","reason":"checkpoint","step":([0-9]+),.*/\1/p' run/metrics.jsonl)
((resumed >= announced)) || fail "went on from step $resumed, step $announced was announced"
expect_exit 0 train end "${common[@]}" --quiet --steps "$steps"
expect_same_model end run
expect_equal "$(find local disks -name 'step-*')" "" "shares of a run that has ended"

# What a crash of its replacement left of the run's only checkpoint comes back; storage of the node that sits out cannot be used, and
# that ends nothing; each warning is told once.
arguments run "${common[@]}" --save-every 2 --checkpoint-local local --flush-every 1000
newest=$(dt-checkpoint latest run)
find run/checkpoints -mindepth 1 ! -path "$newest*" -delete
mv "$newest" "run/checkpoints/.$(basename "$newest").replaced"
sed -i 's/ && exec/ \&\& (((rank != 3)) || mount -o remount,bind,ro local) \&\& exec/' on_node.sh
expect_exit 0 mpi 4 bash on_node.sh "${train_args[@]}" --steps "$((steps + 2))" --pp 3
expect_equal "$(grep -c 'warning: node3: unusable: .*Read-only file system' stderr)" 1 "warnings of a node that sits out"
expect_match stderr "resuming from $newest"
expect_exit 0 mpi 4 bash on_node.sh "${train_args[@]}" --steps "$((steps + 4))" --pp 3 --resume "$newest"
expect_equal "$(grep -c 'warning: run has its own checkpoints' stderr)" 1 "warnings"
