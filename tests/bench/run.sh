#!/usr/bin/env bash
# run.sh BUILD: runs all benchmarks of make bench, one after the other, and prints their tables. tests/bench/README.md lists what each
# measures. TORCH_PYTHON names a Python interpreter that has torch, for PyTorch's side.
set -euo pipefail
build=$(cd "${1:?usage: run.sh BUILD}" && pwd)
export PATH=$build/bin:$PATH
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-1000}  # as dt-train has it
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/launch.sh"
seq 1 40000 >"$work/text"
dt-shard-data --quiet --out "$work/shards" --val-fraction 0 "$work/text" >/dev/null
# PyTorch's side of the table, if TORCH_PYTHON is set.
if [[ -n ${TORCH_PYTHON:-} ]]; then torch=(--torch "$TORCH_PYTHON" "$here/table"); else torch=(); fi
TMPDIR=$work bench_table --train dt-train "$work/shards" "${torch[@]}"

bench_kernels --benchmark_min_time=0.3
bench_gemm --benchmark_min_time=0.3
bench_units --benchmark_min_time=0.3
bench_tokenizer --benchmark_min_time=0.3
bench_loader
bash "$here/data_wait.sh"
bash "$here/muon.sh"

bash "$here/shards.sh" || (($? == 77))
bash "$here/encoders.sh" || (($? == 77))
bash "$here/save.sh"
bash "$here/data_parallel.sh"
bash "$here/pipeline.sh"
bash "$here/tensor.sh"
bash "$here/context.sh"
for script in overlap links tensor_links; do bash "$here/$script.sh" || (($? == 77)); done  # it says what this machine lacks
bash "$here/memory.sh"
bash "$here/ranks.sh"

bench_checkpoint
bench_many_files "$work"
bench_copies "$work"
bench_merge "$work"
if [[ -w /dev/shm ]]; then bench_merge /dev/shm; fi  # where no disk is waited for

echo "all-reduce on one host against streaming and the MPI library's own, 2 ranks"
"${launch[@]}" -n 2 bench_all_reduce

for ranks in 2 4 8; do
  echo "all-to-all on one host against MPI_Alltoallv and a plain loop, $ranks ranks"
  "${launch[@]}" "${share_cores[@]}" -n "$ranks" bench_all_to_all
done

echo "dt-allreduce-bench against a plain MPI loop, 2 ranks"
"${launch[@]}" -n 2 bench_allreduce_overhead
