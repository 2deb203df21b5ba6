#!/usr/bin/env bash
# The tools load no library from the working directory, which may be a folder where others write.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
for tool in dt-shard-data dt-train dt-checkpoint dt-merge dt-allreduce-bench; do
  path=$(command -v "$tool")
  for library in $(readelf -d "$path" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'); do echo "no library" >"$library"; done
  expect_match libfmt.so.9 'no library'
  expect_exit 0 "$path" --version
done
