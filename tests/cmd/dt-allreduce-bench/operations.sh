#!/usr/bin/env bash
# Every operation, backend, element type and reduction among processes: all results are right.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
bench() { mpi "$1" dt-allreduce-bench "${@:2}"; }

# expect_right ROWS: of the JSON lines in ./stdout.
expect_right() {
  expect_equal "$(grep -c '"kind":"result"' stdout)" "$1" "rows"
  ! grep -E '"wrong":[1-9]' stdout || fail "wrong results"
}

for ranks in 1 2 3 4; do
  expect_exit 0 bench "$ranks" -o all --backend mpi,dt -b 8 -e 40K -f 17 -n 2 -w 1 -c 2 --json --quiet
  expect_right 74 # 2 backends, 9 operations at 8, 136, 2,312 and 39,304 bytes, a barrier
done
for dtype in double float int64 int32 uint64 uint32; do
  expect_exit 0 bench 3 -o all_reduce,reduce_scatter,reduce --backend mpi,dt -d "$dtype" -b 400 -e 4000 -f 9 -n 1 -r sum --json
  expect_right 12
done
for dtype in bfloat16 half; do
  expect_exit 0 bench 3 -o all --backend dt -d "$dtype" -b 400 -e 4000 -f 9 -n 1 --json
  expect_right 19
done
for reduction in sum prod min max; do
  expect_exit 0 bench 4 -o all_reduce,reduce_scatter,reduce --backend mpi,dt -d float -b 24 -e 70000 -i 30000 -n 1 -r "$reduction" --json
  expect_right 18
done
for dtype in bfloat16 half uint8; do
  expect_exit 0 bench 2 -o broadcast,all_gather,alltoall,gather,scatter,send_receive,barrier --backend mpi,dt -d "$dtype" -b 1000 -e 1000 -n 1 --root 1 --json
  expect_right 14
done

# The table: rank 0 alone writes; a section for each operation and backend.
expect_exit 0 bench 2 -o broadcast,barrier --backend dt,mpi -b 64 -e 128 -n 2 --root 1
expect_equal "$(grep -c '^# .*, backend ' stdout)" 4
expect_equal "$(grep '^# .*, backend ' stdout | head -n 2 | tr '\n' ' ')" "# broadcast, backend dt # broadcast, backend mpi "
expect_equal "$(grep -cE '^ +64 +16 +float +none +1( +[0-9.]+){3} +0( +[0-9.]+){3} +0$' stdout)" 2
expect_equal "$(grep -cE '^ +0 +0 +none +none +-1 +[0-9.]+ .*N/A$' stdout)" 2
expect_match stdout "^# 2 ranks on 1 host: .* \(2\)"
name="Open MPI"
[[ ${DT_MPI:-openmpi} == openmpi ]] || name=MPICH
expect_match stdout "$name v?[0-9]"
[[ ! -s stderr ]] || fail "something is said on stderr"

# Sizes become equal parts, each once.
expect_exit 0 bench 3 -o all_gather -b 8 -e 64 -n 1 --json
expect_equal "$(sed -nE 's/.*"size":([0-9]+),"count":([0-9]+).*/\1:\2/p' stdout | tr '\n' ' ')" "12:1 24:2 60:5 "
