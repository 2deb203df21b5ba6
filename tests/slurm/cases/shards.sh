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
