#!/usr/bin/env bash
# The same at every operation.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults die_everywhere writers=3 1 10
faults die_everywhere writers=3:2 1 10
faults die_everywhere self 1 5
faults die_everywhere threads=2 1 5
faults die_everywhere mpi=2 1 10
faults die_everywhere mpi=2:1 4 10
