#!/usr/bin/env bash
# tensor_links.sh: tensor parallelism over two nodes of one thread each with links of 1 Gbit/s (tests/slurm/cluster; as root), for a llama
# whose exchanges take about as long as its computation. It compares three kinds of step: one that does not compute while it exchanges; one
# that exchanges whole products while it computes gradients of weights; and one that exchanges each chunk while it multiplies the next. They
# alternate; the best step of each counts. DT_ROUNDS (default 2) is the number of rounds, DT_STEPS (default 4) the steps of each; the first
# step is not counted.
set -euo pipefail
shopt -s extglob
rounds=${DT_ROUNDS:-2} steps=${DT_STEPS:-4}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/launch.sh"
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
export DT_CLUSTER=$dir/cluster DT_CLUSTER_SHARE=$dir OMP_NUM_THREADS=1
cluster() { "$here/../slurm/cluster" "$@"; }
trap 'cluster down >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
cd "$dir"
reason=$(cluster up 2>&1) || { echo "SKIP: ${reason##*cluster: }" && exit 77; }
for node in n1 n2; do cluster shape "$node" 1gbit 1mb; done
seq 1 40000 | dt-shard-data --quiet --out shards - >/dev/null
cat >llama.json <<'END'
{"model_type":"llama","vocab_size":512,"hidden_size":512,"intermediate_size":1408,"num_hidden_layers":6,"num_attention_heads":8,
 "num_key_value_heads":8,"max_position_embeddings":512,"rms_norm_eps":1e-5,"rope_theta":1e4,"tie_word_embeddings":false,
 "hidden_act":"silu"}
END
# train NAME [options]: adds to NAME the time of each step but the first, and of its exposed communication.
train() {
  local name=$1
  shift
  cluster run srun "$mpi_option" -N 2 -n 2 dt-train --quiet --model llama.json --data shards --run run --steps "$steps" --sequence-length 512 \
    --micro-batch 4 --global-batch 4 --threads 1 --peak-flops 1e9 --lr 1e-4 --save-every 1000000 --eval-batches 1 --tp 2 "$@" >/dev/null
  sed -nE 's/.*"kind":"train","step":([0-9]+),.*"step_s":([0-9.e-]+).*"exposed_comm_s":([0-9.e-]+).*/\1 \2 \3/p' run/metrics.jsonl |
    awk '$1 > 1 {print $2, $3}' >>"$name"
  rm -rf run
}
for ((round = 0; round < rounds; ++round)); do
  train turns --no-overlap --tp-overlap-chunks 1
  train whole --tp-overlap-chunks 1
  train chunks
  train sp-turns --sequence-parallel --no-overlap --tp-overlap-chunks 1
  train sp-whole --sequence-parallel --tp-overlap-chunks 1
  train sp-chunks --sequence-parallel
done
best() { sort -g "$1" | head -n 1; }
echo "llama of 6 blocks, 2,048 tokens a step, two nodes of 1 thread at 1 Gbit/s, --tp 2: the best step, and its exposed communication"
while read -r name text bound; do
  paste -d ' ' <(best "$name") <(best "${name/@(chunks|whole)/turns}") | awk -v text="${text//_/ }" -v bound="$bound" '{
    printf "  %-44s %6.3f s  %6.3f s%s\n", text, $1, $2, bound == "" ? "" : sprintf("  ÷ in turns %.3f%s", $1 / $3, bound == "-" ? "" : " (at most " bound ")") }'
done <<'END'
turns in_turns
whole exchanged_whole -
chunks in_chunks 0.88
sp-turns --sequence-parallel,_in_turns
sp-whole --sequence-parallel,_whole -
sp-chunks --sequence-parallel,_in_chunks 0.78
END
