#!/usr/bin/env bash
# A power failure loses nothing that was announced; without any one of the syncs it would.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults power_loss writers=3 25
faults power_loss self 40
