#!/usr/bin/env bash
# The same, two thousand times.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults kills writers=2,writers=3,writers=3:2,writers=4 1000
faults kills mpi=2,mpi=4,mpi=2:1,mpi=4:2 1000
