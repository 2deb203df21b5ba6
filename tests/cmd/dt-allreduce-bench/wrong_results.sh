#!/usr/bin/env bash
# A library that makes mistakes is found out: counted in the table and in the files, exit 5.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
damaged() { mpi 2 env LD_PRELOAD="$DT_MPI_LIB/libdamaged_mpi.so" dt-allreduce-bench -o all_reduce,all_gather --backend mpi -b 32 -e 128 -n 2 "$@"; }
[[ -e $DT_MPI_LIB/libdamaged_mpi.so ]] || fail "tests/support/damaged_mpi.cpp was not built"

expect_exit 5 damaged --csv x.csv --json-file x.json
expect_match stderr "wrong elements in the results: all_reduce by mpi: 4; "
expect_equal "$(grep -c 'error' stderr)" 1 "messages"
expect_match stdout "^ +32 +8 .* 0 .* 0$"
expect_equal "$(grep -cE '^ +(64|128) +(16|32) +float +sum +-1( +[0-9.]+){3} +1( +[0-9.]+){3} +1$' stdout)" 2 "rows with wrong results"
expect_equal "$(grep -c '^# Out of bounds values : 4 FAILED' stdout)" 1
expect_equal "$(grep -c '^# Out of bounds values : 0 OK' stdout)" 1
expect_match x.json '"wrong": 4'
expect_equal "$(wc -l <x.csv)" 7

expect_exit 5 damaged -c 3 -d int64 --json
expect_match stdout '"kind":"summary","operation":"all_reduce".*"wrong":6'  # 16 elements of 8 bytes: 128 bytes alone
expect_exit 0 damaged -c 0
expect_match stdout "N/A$"
