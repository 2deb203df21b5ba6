#!/usr/bin/env bash
# --device auto beside GPUs whose driver is too old for the program's CUDA, played: an error that says what to do, and no training on CPUs.
source "$(dirname "${BASH_SOURCE[0]}")/../training.sh"
[[ -e $DT_BUILD/tests/old-driver/libcuda.so.1 ]] || skip "there is no nvcc here, and so no program that asks a driver"
unshare --mount true 2>/dev/null || skip "no mounts may be changed here"
make_shards shards

# beside FILES DRIVER DEVICE: two steps of training where /dev has these files of GPUs, and the driver is for that CUDA (12040: 12.4).
# shellcheck disable=SC2317 # expect_exit calls it
beside() {
  arguments run --steps 2 --device "$3"
  # shellcheck disable=SC2016 # expanded there
  env -u CUDA_VISIBLE_DEVICES OLD_DRIVER="$2" unshare --mount bash -c '
    mkdir -p devices && mount --rbind /dev devices && mount -t tmpfs none /dev
    for name in null zero full random urandom tty; do
      if [[ -e devices/$name ]]; then touch "/dev/$name" && mount --bind "devices/$name" "/dev/$name"; fi
    done
    mkdir -m 1777 /dev/shm
    ln -s /proc/self/fd /dev/fd
    for name in $0; do touch "/dev/$name"; done
    export LD_LIBRARY_PATH=$DT_BUILD/tests/old-driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    exec dt-train "$@"' "$1" "${train_args[@]}"
}

for device in auto cuda; do
  expect_exit 4 beside nvidia0 11040 $device
  expect_match stderr 'the NVIDIA driver supports CUDA 11\.4 or older, not CUDA 1[0-9]\.[0-9]+ of this program, but /dev/nvidia0 exists'
  expect_match stderr 'update the driver to r[0-9]+ or newer'
  expect_match stderr 'add the folder of cuda-compat-1[0-9]-[0-9]+ to LD_LIBRARY_PATH'
  if grep -q 'build dt with' stderr; then fail "names a CUDA that dt cannot be built with"; fi
  expect_absent run
done
if grep -q 'not CUDA 13' stderr; then
  expect_exit 4 beside nvidia0 12040 auto
  expect_match stderr 'build dt with CUDA 12'
  expect_absent run
fi

# On purpose; and where there is no GPU, which is told.
expect_exit 0 beside nvidia0 11040 cpu
rm -r run
expect_exit 0 beside "" 11040 auto
expect_match stderr 'computing on the CPU: the NVIDIA driver supports CUDA 11\.4 or older'
