#!/usr/bin/env bash
# A rank that is alive but never enters a collective is named, with its host, the operation and the step, and the job ends.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"

for victim in 0 2; do
  mkdir "flight$victim"
  expect_exit 4 mpi 3 skip_collective "flight$victim" "$victim" 2
  expect_match stderr "all_reduce 7 of group world \(step 7, .*\) did not complete within 2.0 s: rank $victim on $(hostname)"
done
