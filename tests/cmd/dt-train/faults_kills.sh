#!/usr/bin/env bash
# Ranks that are killed while they save.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults kills writers=2,writers=3,writers=4 14
faults kills mpi=2,mpi=2:1 8
