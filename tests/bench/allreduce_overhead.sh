#!/usr/bin/env bash
# allreduce_overhead.sh BUILD [RANKS] [ROUNDS] [OPERATION...]: what dt-allreduce-bench --backend mpi adds to the calls that it
# measures, against a plain MPI loop of the same calls, sizes, memory and thread level. Both run by turns, and the loop a second
# time, to show by how much equal programs differ on this machine. The aim: at most 0.1 us below 64 KiB, at most 3 % from there up,
# by the medians over rounds: below 4 KiB the quickest of equal programs differ by several times as much as their medians do, as a
# launch now and then is lucky. Meant for a quiet machine.
set -euo pipefail
build=$(cd "${1:?usage: allreduce_overhead.sh BUILD [RANKS] [ROUNDS] [OPERATION...]}" && pwd)
ranks=${2:-2}
rounds=${3:-31}
operations=("${@:4}")
[[ ${#operations[@]} -gt 0 ]] || operations=(all_reduce)
command -v mpirun >/dev/null || {
  echo "allreduce_overhead.sh: mpirun is missing" >&2
  exit 1
}
[[ $(id -u) != 0 ]] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
start=(mpirun -n "$ranks")
((ranks <= $(nproc))) || start+=(--oversubscribe)

# measure WHO OPERATION MIN MAX ITERATIONS: "bytes us" per size.
measure() {
  if [[ $1 != tool ]]; then
    "${start[@]}" "$build/bin/bench_mpi_loop" "$2" "$3" "$4" "$5"
  else
    "${start[@]}" "$build/bin/dt-allreduce-bench" --backend mpi -o "$2" -b "$3" -e "$4" -n "$5" -c 0 --json |
      sed -nE 's/.*"kind":"result".*"size":([0-9]+),.*"out_of_place":\{"time_us":([0-9.e+-]+),.*/\1 \2/p'
  fi
}

orders=("loop tool again" "tool again loop" "again loop tool")
for round in $(seq "$rounds"); do
  for operation in "${operations[@]}"; do
    for band in "$((4 * ranks)) 32768 300" "65536 524288 20" "1048576 $((16 << 20)) 2"; do
      for who in ${orders[round % 3]}; do
        # shellcheck disable=SC2086
        measure "$who" "$operation" $band | sed "s/\(.*\) \(.*\)/$operation \1 $who \2/" >>"$work/times"
      done
    done
  done
done

echo "dt-allreduce-bench against a plain MPI loop, $ranks ranks, $rounds rounds by turns; us"
printf '%-15s %9s | %10s %10s %9s %7s %11s | %10s %10s\n' operation bytes "loop" "tool" added ratio "loop again" "loop" "tool"
sort -k1,1 -k2,2n -k3,3 -k4,4g "$work/times" | awk '
  function median(values, count) {
    return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
  }
  function larger(a, b) { return a > b ? a : b }
  function distance(a, b) { return a > b ? a - b : b - a }
  function finish(    l, t, a, above) {
    if (key == "") return
    l = median(loop, loops)
    t = median(tool, tools)
    a = median(again, agains)
    if (bytes < 65536) {
      added = larger(added, t - l)
      added_by_loop = larger(added_by_loop, distance(a, l))
      above = t - l > 0.1
    } else {
      ratio = larger(ratio, t / l)
      ratio_of_loop = larger(ratio_of_loop, 1 + distance(a, l) / l)
      above = t / l > 1.03
    }
    printf "%-15s %9d | %10.3f %10.3f %9.3f %7.3f %11.3f | %10.3f %10.3f%s\n", operation, bytes, l, t, t - l, t / l, a, loop[1],
      tool[1], above ? "  above the aim" : ""
  }
  BEGIN { added = -1e9; print "                            medians                                                quickest" }
  $1 " " $2 != key { finish(); key = $1 " " $2; operation = $1; bytes = $2; loops = tools = agains = 0 }
  $3 == "loop" { loop[++loops] = $4 }
  $3 == "tool" { tool[++tools] = $4 }
  $3 == "again" { again[++agains] = $4 }
  END {
    finish()
    printf "worst by medians: %.3f us added below 64 KiB, ratio %.3f from 64 KiB up; the loop against itself: %.3f us, %.3f\n", added,
      ratio, added_by_loop, ratio_of_loop
  }
'
