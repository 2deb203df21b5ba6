#!/usr/bin/env bash
# A prune that is killed leaves whole checkpoints under their names, two of them verified.
source "$(dirname "${BASH_SOURCE[0]}")/../prune_kills.sh"
prune_kills 20
