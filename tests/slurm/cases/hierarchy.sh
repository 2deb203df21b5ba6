#!/usr/bin/env bash
# Two nodes of two ranks each reduce within nodes first: half the bytes go over the links, and a run that divides weights, gradients
# and the optimizer's state ends with the bits of one rank's that divided nothing.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards

# sent: bytes that the first node's link has carried away from it.
sent() { on_login cat /proc/net/dev | sed -nE 's/^ *n1: *([0-9]+) .*/\1/p'; }
on_nodes() { on_login srun "$mpi_option" -N 2 -n 4 "$@"; }

# Of N bytes an all-reduce sends N/4 to the rank of the same place on the other node, and as many of the sum: of two ranks N. Eight
# operations are measured or warm up, in place and not; what else passes is little.
before=$(sent)
expect_exit 0 on_nodes dt-allreduce-bench -o all_reduce -b 16Mi -e 16Mi -n 3 -w 1 -c 0 --backend dt
bytes=$(($(sent) - before))
((bytes > 8 * 16777216 && bytes < 12 * 16777216)) || fail "$bytes bytes left a node in 8 all-reduces of 16 MiB"

options=(--model llama-tiny --steps 5 --global-batch 4 --micro-batch 1 --sequence-length 64 --grad-lanes 4 --threads 1 --lr 1e-3
  --eval-batches 1 --peak-flops 1e9)
undisturbed whole
for run in "divided --zero 3" "alike --comm-bucket-bytes 64Ki"; do
  # shellcheck disable=SC2086
  expect_exit 0 on_nodes dt-train --quiet --data shards --run $run "${options[@]}" # words
  expect_same_model whole "${run%% *}"
done
