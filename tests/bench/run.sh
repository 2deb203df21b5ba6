#!/usr/bin/env bash
# run.sh BUILD: every kernel and unit at the shapes of GPT-2 124M, then steps of the whole model: tokens/s, MFU, memory;
# then two data-parallel ranks against two runs alone, and what dt-allreduce-bench adds to the calls that it measures.
set -euo pipefail
build=$(cd "${1:?usage: run.sh BUILD}" && pwd)
export PATH=$build/bin:$PATH
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-1000}  # as dt-train has it
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

bench_kernels --benchmark_min_time=0.3
bench_units --benchmark_min_time=0.3

echo "GPT-2 124M, sequence length 1024, one sequence a micro-batch, two a step"
seq 1 40000 >"$work/text"
dt-shard-data --quiet --out "$work/shards" --val-fraction 0 "$work/text" >/dev/null
train=(dt-train --model gpt2-124m --data "$work/shards" --run "$work/run" --global-batch 2 --steps 6)
"${train[@]}" --dry-run | grep -E 'bytes|flops'
/usr/bin/env time -f 'peak memory %M KiB, %e s with the save at the end' "${train[@]}" --quiet

bash "$(dirname "${BASH_SOURCE[0]}")/data_parallel.sh"

echo "dt-allreduce-bench against a plain MPI loop, 2 ranks"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun -n 2 bench_allreduce_overhead
