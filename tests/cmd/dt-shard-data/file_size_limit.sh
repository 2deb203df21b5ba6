#!/usr/bin/env bash
# A limit on the size of files is an error with a remedy, not a killed process, and what was written is gone.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

head -c 2000000 /dev/zero | tr '\0' x >text
mkdir work
limited() {
  ulimit -f 1000 # KiB
  dt-shard-data --out work/data text
}
expect_exit 4 limited
expect_match stderr 'work/.*File too large; .*ulimit -f'
expect_equal "$(ls -A work)" ""
