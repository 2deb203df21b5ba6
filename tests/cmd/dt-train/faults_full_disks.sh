#!/usr/bin/env bash
# A disk that is full, a limit on file sizes, a file system that is read-only.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults full_disks self 60
