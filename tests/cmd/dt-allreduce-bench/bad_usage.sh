#!/usr/bin/env bash
# Wrong options: exit 2, and a message that names the option, the value and what is allowed.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"

# refuse REGEX ARGUMENTS...
refuse() {
  expect_exit 2 dt-allreduce-bench "${@:2}"; expect_match stderr "$1"
  [[ ! -s stdout ]] || fail "something was measured: ${*:2}"
}
refuse "unknown operation 'allreduce'; did you mean 'all_reduce'\? expected all_reduce, broadcast, all_gather, reduce_scatter, all_to_all, reduce, gather, scatter, send_receive, barrier" -o allreduce
refuse "unknown operation 'x'; expected" -o all,x
refuse "unknown operation 'sendrecv'; did you mean 'send_receive'" -o sendrecv
refuse "unknown operation 'sum'; -o of nccl-tests is -r here: write -r sum \(--reduction\); -o \(--operations\) takes all_reduce" -o sum
refuse "invalid value '0' for option '--reduction'; -r of nccl-tests is --root here: write --root 0; expected one of sum" -r 0
refuse "unknown option '-g'; each rank is a process: start them with mpirun -n N" -g 8
refuse "unknown option '--minbytes'; did you mean '--min-bytes'" --minbytes 8
refuse "unknown option '--op'; did you mean '--reduction'" --op sum
for option in --csv --json-file; do
  expect_exit 4 dt-allreduce-bench -e 8 "$option" none/results
  expect_match stderr "cannot create none/results: No such file or directory; the folder above it does not exist"
  expect_absent none
  [[ ! -s stdout ]] || fail "something was measured before the folder of $option was missed"
done

# K, M and G are powers of 1024, as nccl-tests has them; the help and the table say so.
expect_exit 0 dt-allreduce-bench -b 64K -e 128k -i 32K -n 1 -w 0
expect_match stdout "^ +65536 "; expect_match stdout "^ +98304 "; expect_match stdout "^ +131072 "
expect_match stdout "^# K, M and G in --min-bytes, --max-bytes and --step-bytes are powers of 1024"
COLUMNS=300 expect_exit 0 dt-allreduce-bench --help-all
expect_match stdout "^In --min-bytes, --max-bytes, --step-bytes K M G T, also in small letters, .*powers of 1024"

refuse "'-o|'--operations'" -o all_reduce,
refuse "invalid value '' for option '--operations'" -o ''
refuse "'gloo' for option '--backend'; expected mpi, dt or nccl" --backend gloo
refuse "backend nccl works on GPU memory only, not with --device cpu" --backend nccl
refuse "'0' for option '.*-?b|min-bytes" -b 0
refuse "'0' for option" -e 0
refuse "'6' for option '--min-bytes'; expected a multiple of 4, the bytes of a float" -b 6
refuse "'12' for option '--min-bytes'; expected a multiple of 8, the bytes of a double" -b 12 -d double
refuse "'1001' for option '--step-bytes'; expected a multiple of 4" -i 1001
refuse "min-bytes 1024 is above --max-bytes 1000" -b 1Ki -e 1000
refuse "'1' for option '--step-factor'; expected a number above 1" -f 1
refuse "'0.5' for option '--step-factor'" -f 0.5
refuse "step-factor cannot be combined with --step-bytes" -f 2 -i 8
refuse "'float16' for option .*half" -d float16
refuse "'avg' for option .*sum, prod, min, max" -r avg
refuse "'0' for option .*at least 1|from 1" -n 0
refuse "'-1' for option" --warmup=-1
refuse "'-' for option '--csv'" --csv -
refuse "same file, 'x'" --csv x --json-file x
refuse "'1' for option '--root'; expected 0: there is one rank" --root 1 -e 8
refuse "backend dt does not reduce uint8" -d uint8
refuse "backend mpi does not reduce half.*--backend dt" -d half --backend mpi
refuse "unexpected argument 'all_reduce'" all_reduce
for later in --baseline --plot; do refuse "unknown option '$later'" "$later" x; done
refuse "'1.5' for option '--slow-below'; expected a number from 0 to 1" --pairs --slow-below 1.5
refuse "slow-below needs --devices or --pairs" --slow-below 0.5
refuse "min-bandwidth needs several ranks" --min-bandwidth 1
refuse "max-latency needs several ranks" --pairs --max-latency 1
for alone in "--root 0" "-r sum" "-f 2" "-i 8"; do
  # shellcheck disable=SC2086
  refuse "needs --operations when --devices or --pairs is given" --pairs $alone
done
for alone in "--backend dt" "-d float" "-b 8" "-c 1" "--min-bandwidth 1" "--max-latency 1"; do
  # shellcheck disable=SC2086
  refuse "needs --pairs or --operations when --devices is given" --devices $alone
done

# Among ranks: one message, the same exit code.
expect_exit 2 mpi 3 dt-allreduce-bench --root 3
expect_equal "$(grep -c 'error' stderr)" 1 "messages"
expect_match stderr "'3' for option '--root'; expected one of 3 ranks: 0 to 2"
expect_exit 2 mpi 2 dt-allreduce-bench -d bfloat16
expect_match stderr "backend mpi does not reduce bfloat16"

# Ranks that were given different options say so.
expect_exit 2 mpi 1 dt-allreduce-bench -b 16 -e 64 : -n 1 dt-allreduce-bench -b 32 -e 64
expect_match stderr "rank 1 on $(hostname).*min-bytes 32.*rank 0.*min-bytes 16"
expect_exit 0 mpi 1 dt-allreduce-bench -b 16 -e 64 --csv a.csv : -n 1 dt-allreduce-bench -b 16 -e 64
[[ -s a.csv ]] || fail "only where rank 0 writes may differ"

# More than MPI can count.
most=$(((1 << 31) - 1))
expect_exit 2 mpi 2 dt-allreduce-bench -d float -e 8Gi --backend mpi
expect_match stderr "value .$((8 << 30)). for option .--max-bytes.; expected at most $((4 * most)), since --backend mpi supports at most $most floats of all_reduce"
expect_equal "$(grep -c error stderr)" 1 "messages"
[[ ! -s stdout ]] || fail "something was measured"
expect_exit 2 mpi 3 dt-allreduce-bench -o broadcast,all_gather -d uint8 -e 2G --backend mpi
expect_match stderr "expected at most $most, .* uint8s of broadcast"
expect_exit 2 mpi 3 dt-allreduce-bench -o all_gather -d uint8 -b 6G -e 6G --backend dt,mpi
expect_match stderr "expected at most $((3 * most)), .* uint8s of all_gather"
expect_exit 2 mpi 2 dt-allreduce-bench --pairs -d uint8 -e 3G --backend mpi
expect_match stderr "expected at most $most, .* uint8s of send_receive"

# More than there is memory.
for what in -b1T --devices; do
  expect_exit 4 dt-allreduce-bench "$what" -e 1T; expect_match stderr "1 rank on .* needs .* of memory.*--max-bytes"
done
