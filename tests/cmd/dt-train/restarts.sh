#!/usr/bin/env bash
# A run that is stopped at random and goes on with other ranks each time sees every sample exactly once an epoch.
source "$(dirname "${BASH_SOURCE[0]}")/../restarts.sh"
restarts 5 600
