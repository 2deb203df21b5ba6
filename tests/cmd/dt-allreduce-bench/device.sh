#!/usr/bin/env bash
# --device: where there is no GPU, and among processes that have devices.
source "$(dirname "${BASH_SOURCE[0]}")/../ranks.sh"
export CUDA_VISIBLE_DEVICES=
on_device() { mpi "$1" dt-allreduce-bench-on-test-device --device cuda "${@:2}"; }

expect_exit 2 dt-allreduce-bench --device gpu
expect_match stderr "cpu, cuda"
for backend in mpi mpi,dt; do
  expect_exit 2 dt-allreduce-bench --device cuda --backend $backend
  expect_match stderr "--backend mpi works on host memory only, not with --device cuda; use another --backend, or --device cpu"
done
expect_exit 4 dt-allreduce-bench --device cuda -e 8
expect_match stderr 'rank 0 on .*: (this program was built without CUDA|there is no NVIDIA driver|CUDA_VISIBLE_DEVICES)'
expect_exit 4 mpi 2 dt-allreduce-bench --device cuda -e 8
expect_equal "$(grep -c 'error' stderr)" 1 "messages"
[[ ! -s stdout ]] || fail "something was measured"
expect_exit 0 dt-allreduce-bench --device cpu -e 8
expect_match stdout "^# device cpu$"

# All operations, right; one GPU has two of the ranks.
for ranks in 1 3; do
  expect_exit 0 on_device $ranks -o all -b 8 -e 40K -f 17 -n 2 -w 1 -c 2 --json
  expect_equal "$(grep -c '"kind":"result".*"backend":"dt"' stdout)" 37 "rows"
  expect_equal "$(grep -o '"wrong":0' stdout | wc -l)" 74 "results that are right, and sums" # 36 rows, 28 of them in place too, 10 sections
  expect_match stdout '"device":"cuda","gpus":\[\{"gpu":"test device","ranks":'$ranks'\}\]'
done
expect_match stderr "2 ranks share a GPU of $(hostname)"
expect_exit 0 on_device 2 -e 8 --csv table.csv
expect_match stdout "^# device cuda: test device \(2\)$"
expect_match table.csv ",cuda,test device:2,"
[[ ! -s stderr ]] || fail "something is said on stderr"

# A GPU that takes longer for all it does is named, and what it measures is told of it.
qualify=(dt-allreduce-bench-on-test-device --device cuda --devices -e 4Ki -n 1 -w 0 --slow-below 0.3)
DT_TEST_DEVICE_GPUS=3 expect_exit 5 mpi 2 env DT_TEST_DEVICE_SLOW=0.05 "${qualify[@]}" : -n 1 env DT_TEST_DEVICE_SLOW=2 "${qualify[@]}"
expect_match stdout "^ +0 +[0-9.e+-]+ +[0-9.e+-]+ +[0-9.e+-]+ +[0-9.e+-]+  $(hostname), cuda:0 \(test device, test:0\)$"
expect_match stdout "^ +2 .* $(hostname), cuda:2 \(test device, test:2\)  SLOW: product, copy, to host, from host$"
expect_match stderr "warning: rank 2 on $(hostname), cuda:2 \(test device, test:2\): slow product: [0-9.e+-]+ TFLOP/s, the median is [0-9.e+-]+"
expect_match stderr "error: 4 of the devices, links and operations are too slow; see the warnings above"
expect_equal "$(grep -c SLOW stdout)" 1 "slow GPUs"

# Through NCCL, played: what dt sums over it, and its own sums.
if grep -q dt-stand-in "$(command -v dt-allreduce-bench-on-test-device)"; then
  for ranks in 1 3; do
    DT_TEST_DEVICE_GPUS=3 expect_exit 0 on_device $ranks --backend dt,nccl -o all -b 8 -e 40K -f 17 -n 2 -w 1 -c 2 --json
    expect_equal "$(grep -c '"kind":"result".*"backend":"dt"' stdout)" 37 "rows of dt"
    expect_equal "$(grep -c '"kind":"result".*"backend":"nccl"' stdout)" 37 "rows of NCCL"
    expect_equal "$(grep -o '"wrong":0' stdout | wc -l)" 148 "results that are right, and sums"
  done
  DT_TEST_DEVICE_GPUS=3 expect_exit 0 on_device 3 --backend dt,nccl --pairs -e 40K -n 2 -w 1 -c 2 --slow-below 0 --json
  expect_equal "$(grep -c '"kind":"link".*"wrong":0' stdout)" 6 "links that are right"
  # GPUs that have NVLink and are all as slow as this device.
  nvlink=(--pairs -e 8Mi -n 1 -w 0 -c 0)
  DT_TEST_DEVICE_NAME="NVIDIA H200" DT_TEST_DEVICE_GPUS=2 expect_exit 5 on_device 2 "${nvlink[@]}" --backend nccl
  expect_match stderr "warning: $(hostname) has NVIDIA H200 with NVLink, but 1 of 1 links within it by nccl are no faster than PCIe: at most [0-9.e+-]+ GB/s; "
  expect_equal "$(grep -c "warning: " stderr)" 1 "warnings"
  DT_TEST_DEVICE_NAME="NVIDIA H100 PCIe" DT_TEST_DEVICE_GPUS=2 expect_exit 0 on_device 2 "${nvlink[@]}" --backend nccl
  DT_TEST_DEVICE_GPUS=1 expect_exit 4 on_device 2 --backend nccl -e 8
  expect_match stderr 'ranks 0 and 1 on .* share the GPU .*, but NCCL [0-9.]+ supports one rank per GPU'
fi
