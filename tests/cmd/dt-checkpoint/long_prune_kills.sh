#!/usr/bin/env bash
# As prune_kills, 500 times.
source "$(dirname "${BASH_SOURCE[0]}")/../prune_kills.sh"
prune_kills "${DT_PRUNE_KILLS:-500}"
