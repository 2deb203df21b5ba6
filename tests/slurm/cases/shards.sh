#!/usr/bin/env bash
# jobs/shard.sbatch on three nodes makes the dataset that one process makes.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
awk 'BEGIN {for (i = 0; i < 1000000; ++i) print "{\"text\": \"" i " is the number of a text that goes on and on\"}"}' >text.jsonl
export DT_INPUT='text.jsonl text.jsonl text.jsonl text.jsonl' DT_SHARD_ARGS='--deduplicate --threads 1'
read -ra inputs <<<"$DT_INPUT"
expect_exit 0 dt-shard-data --quiet --deduplicate --out alone "${inputs[@]}"

job=$(DT_DATA=shared on_login sbatch --parsable -N 3 --ntasks-per-node=1 "$jobs/shard.sbatch")
wait_for_job "$job" 60
cmp alone/dataset.json shared/dataset.json
expect_exit 0 dt-shard-data --verify shared
expect_equal "$(grep -c '^train ' "dt-shard-$job.log")" 1 "tasks that speak"
expect_equal "$(find . -name '.*.partial')" ""

# srun starts the tool itself: the tasks of a step share the work. srun starts a shell: each task runs a command of its own.
expect_exit 0 on_login srun -N 2 --ntasks-per-node=1 dt-shard-data --quiet --out direct text.jsonl
expect_exit 0 dt-shard-data --quiet --out direct_alone text.jsonl
cmp direct_alone/dataset.json direct/dataset.json
for part in 0 1 2; do echo "this is part $part" >"part$part"; done
# shellcheck disable=SC2016
expect_exit 0 on_login srun -n 3 bash -c 'dt-shard-data --quiet --out "own$SLURM_PROCID" <"part$SLURM_PROCID"'
# shellcheck disable=SC2016
expect_exit 0 on_login srun -n 3 bash -c 'dt-shard-data --quiet --out "named$SLURM_PROCID" "part$SLURM_PROCID"; exit $?'
for part in 0 1 2; do
  expect_exit 0 dt-shard-data --decode "own$part/train-00000.h5:0:14"
  expect_equal "$(cat stdout)" "this is part $part"
  expect_exit 0 dt-shard-data --decode "named$part/train-00000.h5:0:14"
  expect_equal "$(cat stdout)" "this is part $part"
done
