#!/usr/bin/env bash
# Every link between documents leads to a file, and to a heading where it names one.
source "$(dirname "${BASH_SOURCE[0]}")/../documents.sh"
check_links "$(realpath "$DT_TESTS/..")"
