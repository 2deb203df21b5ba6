#!/usr/bin/env bash
# The same, twenty times.
source "$(dirname "${BASH_SOURCE[0]}")/../restarts.sh"
restarts 20 2000
