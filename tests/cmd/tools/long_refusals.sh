#!/usr/bin/env bash
# The same at every operation of everything that the tools do.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults refusals 1
