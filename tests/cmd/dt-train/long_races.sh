#!/usr/bin/env bash
# A hundred races.
source "$(dirname "${BASH_SOURCE[0]}")/../races.sh"
races 100
