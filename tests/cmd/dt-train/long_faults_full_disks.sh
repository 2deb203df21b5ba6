#!/usr/bin/env bash
# The same in steps of 4 KiB.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults full_disks self 4
faults full_disks mpi=2 16
