#!/usr/bin/env bash
# overlap.sh: GPT-2 124M on two nodes of one thread each with links of 1 Gbit/s (tests/slurm/cluster; as root), one sequence of 1024 tokens
# per node. It compares a step with a model of it, and computation overlapped with communication with one after the other.
#
# The model has one processor and one link. Units compute in the order of the step, at the times that bench_units measures for one
# thread. The link transfers a unit's gradients once its backward is done and the link is free, at the rate that dt-allreduce-bench
# measures. The rest of a step of one rank (the optimizer) comes last.
set -euo pipefail
steps=${DT_STEPS:-4}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/launch.sh"
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
export DT_CLUSTER=$dir/cluster DT_CLUSTER_SHARE=$dir OMP_NUM_THREADS=1
cluster() { "$here/../slurm/cluster" "$@"; }
trap 'cluster down >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
cd "$dir"
reason=$(cluster up 2>&1) || { echo "SKIP: ${reason##*cluster: }" && exit 77; }
for node in n1 n2; do cluster shape "$node" 1gbit 1mb; done
seq 1 200000 | dt-shard-data --quiet --out shards - >/dev/null

# train RUN NODES [options]: prints the median step time of all steps but the first, and of its exposed communication.
median() { sort -g | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
train() {
  local run=$1 nodes=$2
  shift 2
  cluster run srun "$mpi_option" -N "$nodes" -n "$nodes" dt-train --quiet --model gpt2-124m --data shards --run "$run" --steps "$steps" \
    --sequence-length 1024 --micro-batch 1 --global-batch "$nodes" --threads 1 --peak-flops 1e9 --lr 1e-4 --eval-batches 1 \
    --save-every 1000000 "$@" >/dev/null
  for what in step_s exposed_comm_s; do
    sed -nE "s/.*\"kind\":\"train\",\"step\":([0-9]+),.*\"$what\":([0-9.e-]+).*/\1 \2/p" "$run/metrics.jsonl" | awk '$1 > 1 {print $2}' | median
  done | paste -sd ' '
  rm -rf "$run"
}

rate=$(cluster run srun "$mpi_option" -N 2 -n 2 dt-allreduce-bench -o all_reduce -b 64Mi -e 64Mi -n 3 -w 1 --backend dt | awk '$3 == "float" {print 67108864 / ($6 < $10 ? $6 : $10) * 1e6}')
units=$(bench_units --benchmark_filter='/1/' --benchmark_min_time=0.5 --benchmark_format=csv 2>/dev/null |
  sed -nE 's#^"BM_([a-z_]*)/([a-z]*)/1/real_time",[^,]*,([0-9.e+]*),.*#\1_\2=\3#p' | paste -sd ' ')
read -r alone _ < <(train alone 1)
read -r overlapped exposed < <(train overlapped 2)
read -r apart apart_exposed < <(train apart 2 --no-overlap)
cluster run true
dt-train --model gpt2-124m --data shards --steps 1 --comm threads=2 --threads 1 --show-schedule --json 2>/dev/null |
  sed -nE 's/.*"action":"reduce","unit":"([a-z.0-9]*)".*"bytes":([0-9]+).*/\1 \2/p' |
  awk -v rate="$rate" -v units="$units" -v alone="$alone" -v overlapped="$overlapped" -v exposed="$exposed" -v apart="$apart" -v apart_exposed="$apart_exposed" '
    BEGIN {
      n = split(units, list, " ")
      for (i = 1; i <= n; ++i) { split(list[i], pair, "="); ms[pair[1]] = pair[2] / 1000 }
    }
    { name[NR] = $1; bytes[NR] = $2; total += $2 }
    END {
      blocks = NR - 2
      forward = ms["forward_embedding"] + blocks * ms["forward_block"]
      backward["block"] = ms["backward_input_block"] + ms["backward_weight_block"]
      backward["embedding"] = ms["backward_input_embedding"] + ms["backward_weight_embedding"]
      now = forward + ms["forward_head"]  # the head makes its gradients in its forward
      link = 0
      for (i = 1; i <= NR; ++i) {
        if (i > 1) now += backward[name[i] == "embedding" ? "embedding" : "block"]
        link = (link > now ? link : now) + bytes[i] / rate
      }
      rest = alone - now
      model = (link > now ? link : now) + rest
      printf "GPT-2 124M, two nodes of 1 thread, %.0f MB of gradients at %.0f MB/s\n", total / 1e6, rate / 1e6
      printf "  one node               %6.2f s a step, units %.2f s\n", alone, now
      printf "  messages alone         %6.2f s\n", total / rate
      printf "  overlapped             %6.2f s, %.2f s of them exposed communication\n", overlapped, exposed
      printf "  one after the other    %6.2f s, %.2f s of them exposed communication\n", apart, apart_exposed
      printf "  model                  %6.2f s\n", model
      printf "  step ÷ model           %6.3f (at most 1.10)\n", overlapped / model
      printf "  overlapped ÷ not       %6.3f (at most 0.85)\n", overlapped / apart
    }'
