#!/usr/bin/env bash
# Ranks that are killed at random moments: no hang, no orphan, and the run ends with the bits of an undisturbed one.
source "$(dirname "${BASH_SOURCE[0]}")/../kill_ranks.sh"
kill_ranks 8 2700
