#!/usr/bin/env bash
# A process that dies at a file operation of a save loses nothing that was announced.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults die_everywhere writers=3 12 6
faults die_everywhere writers=3:2 20 6
faults die_everywhere self 14 5
faults die_everywhere mpi=2 150 2
