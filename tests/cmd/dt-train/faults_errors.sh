#!/usr/bin/env bash
# Errors of the file system at operations of a save are reported; the checkpoint before stays.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults errors self 24
