#!/usr/bin/env bash
# links.sh: a pipeline over four nodes whose links carry 1 Gbit/s (tests/slurm/cluster; as root): 1F1B, units that take known times, a
# step against the walk of its lists, in which messages take as long as one pair of ranks measures.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
export DT_CLUSTER=$dir/cluster DT_CLUSTER_SHARE=$dir
cluster() { "$here/../slurm/cluster" "$@"; }
trap 'cluster down >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
cd "$dir"
reason=$(cluster up 2>&1) || { echo "SKIP: ${reason##*cluster: }" && exit 77; }
for node in n1 n2 n3 n4; do cluster shape "$node" 1gbit 1mb; done
cluster run srun --mpi=pmix -N 4 -n 4 bench_pipeline links
