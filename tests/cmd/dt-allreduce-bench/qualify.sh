#!/usr/bin/env bash
# --devices, --pairs and bounds: what is slow is named, by exit 5, and nothing else is.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
bench=(dt-allreduce-bench -e 64Ki -n 2 -w 1)
# Of ranks that share cores with others anything may be slow: nothing is.
lenient=(--slow-below 0)
host=$(hostname)

# One rank has a device, and no links.
expect_exit 0 "${bench[@]}" --devices --pairs
expect_match stdout "^ +0 +[0-9.e+-]+ +[0-9.e+-]+ +N/A +N/A  $host, cpu \([a-z0-9_]+\)$"
expect_equal "$(grep -c '^ ' stdout)" 1 "rows"
expect_match stderr "a single rank sends no messages"
expect_exit 0 "${bench[@]}" --devices
[[ ! -s stderr ]] || fail "devices alone send nothing, and need not be told"
expect_exit 0 "${bench[@]}" --devices -o barrier --json
expect_equal "$(sed -nE 's/^\{"kind":"([a-z]+)".*/\1/p' stdout | tr '\n' ' ')" "run device result summary "

# Every pair, by each backend, right; the files say the same.
expect_exit 0 mpi 3 "${bench[@]}" "${lenient[@]}" --devices --pairs --backend dt,mpi --csv x.csv --json-file x.json
expect_equal "$(grep -c '^ ' stdout)" 9 "rows: three devices, three pairs by each of two backends"
for pair in '0 +1' '0 +2' '1 +2'; do
  expect_equal "$(grep -cE "^ +$pair +within +[0-9.e+-]+ +[0-9.e+-]+ +0  $host - $host$" stdout)" 2 "rows of $pair"
done
[[ ! -s stderr ]] || fail "something is said on stderr"
expect_equal "$(grep -c ',link,' x.csv)" 6 "links in the CSV"
expect_equal "$(grep -c '"latency_us": ' x.json)" 6 "links in the JSON"
expect_equal "$(grep -c '"product_tflop_s": ' x.json)" 3 "devices in the JSON"
expect_exit 0 mpi 2 "${bench[@]}" "${lenient[@]}" --pairs -o barrier -c 0 --json
expect_equal "$(sed -nE 's/^\{"kind":"([a-z]+)".*/\1/p' stdout | tr '\n' ' ')" "run link result summary "
expect_match stdout '"within_host":true,"latency_size":8,.*"size":65536,.*"wrong":null,"slow":false\}'

# Slow links: one; and all of a rank.
# slow LINKS [FRACTION [options]]: 40 times slower than others.
slow() {
  mpi 4 env LD_PRELOAD="$DT_MPI_LIB/libslow_mpi.so" DT_TEST_SLOW_LINKS="$1" \
    dt-allreduce-bench -e 64Ki -n 1 -w 0 -c 0 --pairs --slow-below "${2:-0.2}" "${@:3}"
}
expect_exit 5 slow "1-2"
expect_match stdout "^ +1 +2 +within .*  SLOW$"
expect_equal "$(grep -c SLOW stdout)" 1 "slow links"
expect_match stderr "warning: slow link by mpi: [0-9.e+-]+ GB/s between rank 1 on $host, cpu .* and rank 2 on $host, cpu .*, the median within hosts is [0-9.e+-]+"
expect_match stderr "error: 1 of the devices, links and operations is too slow"
expect_equal "$(grep -c error stderr)" 1 "messages"
expect_exit 5 slow "0-3 1-3 2-3" 0.2 --json
expect_equal "$(grep -c '"slow":true' stdout)" 3 "slow links"
expect_match stderr "warning: rank 3 on $host, .*: all its 3 links within hosts by mpi are slow: [0-9.e+-]+ GB/s at most, the median is [0-9.e+-]+"
expect_equal "$(grep -c "warning: " stderr)" 1 "warnings"
expect_exit 0 slow "1-2" 0

# Bounds are of the largest size, and of the smallest.
expect_exit 0 mpi 2 "${bench[@]}" --min-bandwidth 1e-6 --max-latency 1e7
expect_exit 5 mpi 2 "${bench[@]}" -o all_reduce,barrier --min-bandwidth 1e6 --backend dt
expect_match stderr "warning: all_reduce of 65536 bytes by dt: [0-9.e+-]+ GB/s, below --min-bandwidth 1000000"
expect_equal "$(grep -c "warning: " stderr)" 1 "warnings: a barrier has no bandwidth"
expect_exit 5 mpi 2 "${bench[@]}" -b 16 --max-latency 0.001
expect_match stderr "warning: all_reduce of 16 bytes by mpi: [0-9.e+-]+ us, above --max-latency 0.001"
expect_exit 5 mpi 2 "${bench[@]}" "${lenient[@]}" --pairs --min-bandwidth 1e6 --max-latency 0.001
expect_match stderr "warning: link by mpi between rank 0 on $host, .* and rank 1 on $host, .*: [0-9.e+-]+ us, above"
expect_match stderr "warning: link by mpi .*: [0-9.e+-]+ GB/s, below --min-bandwidth 1000000"

# What the environment says is told, and which of it differs.
expect_exit 0 mpi 1 env NCCL_IB_HCA=mlx5_0 "${bench[@]}" -o barrier : -n 1 env NCCL_IB_HCA=mlx5_1 "${bench[@]}" -o barrier
expect_match stdout "^# environment .*NCCL_IB_HCA=mlx5_0"
expect_match stderr "warning: NCCL_IB_HCA differs: 'mlx5_0' on $host \(rank 0\), 'mlx5_1' on $host \(rank 1\); "
expect_equal "$(grep -c "warning: " stderr)" 1 "warnings"
