#!/usr/bin/env bash
# The same many times.
# What follows is long to follow.
# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/../nccl_faults.sh"
nccl_faults 200 50
