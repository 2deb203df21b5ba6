#!/usr/bin/env bash
# The same many times.
source "$(dirname "${BASH_SOURCE[0]}")/../nccl_faults.sh"
nccl_faults 200 50
