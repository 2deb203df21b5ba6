#!/usr/bin/env bash
# The same at 200 places.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
for kind in writers=3 writers=3:2 self threads=2 mpi=2; do
  faults power_loss "$kind" 200
done
