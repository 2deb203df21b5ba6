#!/usr/bin/env bash
# Ranks that outlive their job beside its next life.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/../zombie_trials.sh"
zombie_trials 3
