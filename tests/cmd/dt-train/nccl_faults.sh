#!/usr/bin/env bash
# nccl_faults.sh [KILLS OTHERS]: ranks whose NCCL fails, hangs, or loses a rank: all end soon, and say why; see nccl_faults.
# What follows is long to follow.
# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/../nccl_faults.sh"
nccl_faults "${1:-4}" "${2:-1}"
