#!/usr/bin/env bash
# What the system refuses a tool ends it with exit 4, told as that; here one operation in many.
source "$(dirname "${BASH_SOURCE[0]}")/../../faults/run.sh"
faults refusals 24 shard-data resume verify latest merge bench
