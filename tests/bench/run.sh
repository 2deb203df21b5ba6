#!/usr/bin/env bash
# run.sh BUILD: a table of how near training comes to this machine's speed and, with TORCH_PYTHON, to PyTorch's;
# every kernel, product and unit at its shapes; text to ids; batches against memcpy and a step's wait for them; tokenizers learned, text to
# shards, and text to ids against others' encoders; then saving beside training, saving, loading and merging against plain reads and
# writes, checkpoints of thousands of files against some of 64, copies between nodes against plain bytes; two data-parallel ranks against two runs alone; pipelines against the papers' bubbles, the walk of their lists, data-parallel
# ranks, and over links that carry 1 Gbit/s; ranks that share layers against one rank and, over such links, what they exchange in chunks
# against whole; ranks that divide sequences against one rank; the memory of four, 256 ranks that are threads against 64, all-reduce and all-to-all on one host, and what dt-allreduce-bench adds
# to the calls that it measures.
set -euo pipefail
build=$(cd "${1:?usage: run.sh BUILD}" && pwd)
export PATH=$build/bin:$PATH
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-1000}  # as dt-train has it
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
seq 1 40000 >"$work/text"
dt-shard-data --quiet --out "$work/shards" --val-fraction 0 "$work/text" >/dev/null
# PyTorch's side of the table where a python that has it is named.
if [[ -n ${TORCH_PYTHON:-} ]]; then torch=(--torch "$TORCH_PYTHON" "$here/table"); else torch=(); fi
TMPDIR=$work bench_table --train dt-train "$work/shards" "${torch[@]}"

bench_kernels --benchmark_min_time=0.3
bench_gemm --benchmark_min_time=0.3
bench_units --benchmark_min_time=0.3
bench_tokenizer --benchmark_min_time=0.3
bench_loader
bash "$here/data_wait.sh"

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

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
echo "all-reduce on one host against streaming and the MPI library's own, 2 ranks"
mpirun -n 2 bench_all_reduce

for ranks in 2 4 8; do
  echo "all-to-all on one host against MPI_Alltoallv and a plain loop, $ranks ranks"
  mpirun -n "$ranks" --oversubscribe bench_all_to_all
done

echo "dt-allreduce-bench against a plain MPI loop, 2 ranks"
mpirun -n 2 bench_allreduce_overhead
