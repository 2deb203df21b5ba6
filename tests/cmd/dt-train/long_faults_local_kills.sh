#!/usr/bin/env bash
# The same, hundreds of times.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
unshare --uts true 2>/dev/null || skip "needs the right to give processes a host name of their own"
faults local_kills 2 2 100
faults local_kills 4 1 200
