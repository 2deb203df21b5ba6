#!/usr/bin/env bash
# 2,000 random flipped bits, each caught by verify and by a reader.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
DT_CORRUPTION_TRIALS=2000 "$DT_BUILD/bin/test_checkpoint" "[corruption]"
