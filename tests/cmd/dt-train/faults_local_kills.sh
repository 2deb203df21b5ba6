#!/usr/bin/env bash
# Ranks of several nodes that are killed while they save on them, and nodes that then lose what they held.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
unshare --uts true 2>/dev/null || skip "needs the right to give processes a host name of their own"
faults local_kills 4 1 8
faults local_kills 2 2 3
