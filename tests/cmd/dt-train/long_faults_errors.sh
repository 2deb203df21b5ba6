#!/usr/bin/env bash
# The same at every operation, and with ranks.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults errors self 1
faults errors threads=2 4
faults errors mpi=2 10
