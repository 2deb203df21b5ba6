#!/usr/bin/env bash
# Ranks that cannot find each other are refused, before each trains alone.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_shards shards
job_options 5
expect_exit 4 on_login srun --mpi=none -N2 -n2 dt-train --data shards --run run "${options[@]}"
expect_match stderr "needs srun $mpi_option"
expect_absent run
