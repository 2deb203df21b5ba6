# Sourced by cases whose ranks' GPUs talk through NCCL: played on the test device, or where $DT_GPU_TRAIN says so the machine's own.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/nccl.sh"
source "$(dirname "${BASH_SOURCE[0]}")/device.sh"
export DT_TEST_DEVICE_GPUS=4

# on_gpus RANKS COMM ...: dt-train's options; $small says of what.
on_gpus() {
  # shellcheck disable=SC2154 # the case's
  mpi "$1" "${DT_GPU_TRAIN:-dt-train-on-test-device}" "${small[@]}" --device cuda --comm "$2" "${@:3}"
}

# expect_bits_of_messages STEPS LAYOUTS NUMBER: on four ranks each of so many layouts holds what it promises, and has the same losses
# and, beside those of the first, the same weights through NCCL as by messages.
expect_bits_of_messages() {
  local comm
  for comm in mpi nccl; do
    expect_exit 0 on_gpus 4 $comm --compare-layouts "$2" --steps "$1" --json
    expect_equal "$(grep -c '"holds":true' stdout)" "$3" "layouts by $comm"
    sed -nE 's/.*("layout":"[^"]*").*("losses":\[[^]]*\]).*("weights_equal":[a-z]*,"weights_max_difference":[^,]*,"weights_relative_difference":[^,}]*).*/\1 \2 \3/p' \
      stdout >"$comm.bits"
  done
  expect_match stderr 'between GPUs: NCCL [0-9.]+'
  expect_equal "$(grep -c losses nccl.bits)" "$3" "layouts whose bits were read"
  expect_equal "$(cat nccl.bits)" "$(cat mpi.bits)" "losses and weights by NCCL and by messages"
}
