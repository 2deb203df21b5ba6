#!/usr/bin/env bash
# allreduce_overhead.sh BUILD [RANKS] [ROUNDS] [OPERATION...]: what dt-allreduce-bench --backend mpi adds to the calls that it
# measures, against a plain MPI loop of the same calls. Both run by turns. The aim: at most 3 % from 64 KiB up, at most 0.1 us
# below, by each side's quickest round, since others that use the cores only ever add time; on a quiet machine the medians agree.
set -euo pipefail
build=$(cd "${1:?usage: allreduce_overhead.sh BUILD [RANKS] [ROUNDS] [OPERATION...]}" && pwd)
ranks=${2:-2}
rounds=${3:-15}
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
  if [[ $1 == loop ]]; then
    "${start[@]}" "$build/bin/bench_mpi_loop" "$2" "$3" "$4" "$5"
  else
    "${start[@]}" "$build/bin/dt-allreduce-bench" --backend mpi -o "$2" -b "$3" -e "$4" -n "$5" -c 0 --json |
      sed -nE 's/.*"kind":"result".*"size":([0-9]+),.*"out_of_place":\{"time_us":([0-9.e+-]+),.*/\1 \2/p'
  fi
}

# Short measurements in many rounds: some of them are left undisturbed.
for round in $(seq "$rounds"); do
  order=(loop tool)
  ((round % 2)) || order=(tool loop)
  for operation in "${operations[@]}"; do
    for band in "$((4 * ranks)) 32768 300" "65536 524288 20" "1048576 $((16 << 20)) 2"; do
      for who in "${order[@]}"; do
        # shellcheck disable=SC2086
        measure "$who" "$operation" $band | sed "s/\(.*\) \(.*\)/$operation \1 $who \2/" >>"$work/times"
      done
    done
  done
done

echo "dt-allreduce-bench against a plain MPI loop, $ranks ranks, $rounds rounds by turns; us; quickest round, then medians"
printf '%-15s %9s %11s %11s %9s %7s %11s %11s %7s\n' operation bytes loop tool added ratio loop tool ratio
sort -k1,1 -k2,2n -k3,3 -k4,4g "$work/times" | awk '
  function median(values, count) {
    return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
  }
  function finish(    l, t, above) {
    if (key == "") return
    above = bytes >= 65536 ? tool[1] > 1.03 * loop[1] : tool[1] > loop[1] + 0.1
    l = median(loop, loops)
    t = median(tool, tools)
    printf "%-15s %9d %11.3f %11.3f %9.3f %7.3f %11.3f %11.3f %7.3f%s\n", operation, bytes, loop[1], tool[1], tool[1] - loop[1],
      tool[1] / loop[1], l, t, t / l, above ? "  above the aim" : ""
    all += above
  }
  $1 " " $2 != key { finish(); key = $1 " " $2; operation = $1; bytes = $2; loops = tools = 0 }
  $3 == "loop" { loop[++loops] = $4 }
  $3 == "tool" { tool[++tools] = $4 }
  END { finish(); printf "%d above the aim\n", all }
'
