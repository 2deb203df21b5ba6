#!/usr/bin/env bash
# links.sh: a 1F1B pipeline over four nodes with links of 1 Gbit/s (tests/slurm/cluster; as root). Units take known times. The script
# compares a step with the prediction from its lists of actions, in which a message takes the time measured between one pair of ranks.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/launch.sh"
dir=$(mktemp -d "${TMPDIR:-/tmp}/dt-bench-XXXXXX")
export DT_CLUSTER=$dir/cluster DT_CLUSTER_SHARE=$dir
cluster() { "$here/../slurm/cluster" "$@"; }
trap 'cluster down >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
cd "$dir"
reason=$(cluster up 2>&1) || { echo "SKIP: ${reason##*cluster: }" && exit 77; }
for node in n1 n2 n3 n4; do cluster shape "$node" 1gbit 256kb; done
cluster run srun "$mpi_option" -N 4 -n 4 bench_pipeline links
