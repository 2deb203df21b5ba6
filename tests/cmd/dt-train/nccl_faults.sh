#!/usr/bin/env bash
# Ranks whose NCCL fails, hangs, or loses a rank: all end soon, and say why; see nccl_faults.
source "$(dirname "${BASH_SOURCE[0]}")/../nccl_faults.sh"
nccl_faults 6 2
