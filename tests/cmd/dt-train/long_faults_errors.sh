#!/usr/bin/env bash
# The same at every operation.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
for kind in self threads=2 mpi=2; do
  faults errors "$kind" 1
done
