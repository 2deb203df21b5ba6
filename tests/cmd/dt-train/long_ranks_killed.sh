#!/usr/bin/env bash
# The same, two hundred times.
source "$(dirname "${BASH_SOURCE[0]}")/../kill_ranks.sh"
kill_ranks 200 30000 --global-batch 32
