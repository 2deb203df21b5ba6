#!/usr/bin/env bash
# A thousand injected infinities and NaNs at random steps.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults not_finite 500 1
faults not_finite 500 2
