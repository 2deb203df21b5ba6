#!/usr/bin/env bash
# The folder for machines with a GPU runs where it is put, with its own libraries; without a GPU its checks say of each section why not.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
[[ -x $DT_BUILD/bin/gpu_kernels ]] || skip "what is for GPUs takes nvcc, which was not found"
[[ -x $DT_BUILD/bin/dt-merge ]] || fail "the tools are not there"
export CUDA_VISIBLE_DEVICES=

expect_exit 0 bash "$DT_TESTS/gpu/bundle.sh" "$DT_BUILD" bundle
mkdir "a place" && tar -C "a place" -xf bundle.tar.xz
rm -r bundle
bundle="$case_dir/a place/bundle"
unset DT_TESTS DT_BUILD

# Nothing of this machine's but glibc.
for program in "$bundle"/bin/* "$bundle"/mpi/orte* "$bundle"/mpi/plugins/*; do
  [[ $program != */mpirun ]] || continue # a script
  ldd "$program" >linked
  if grep -E '=>' linked | grep -vE "=> $bundle/[a-z./]+/lib/|/(ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libutil|libmvec)[-.]|linux-vdso"; then
    fail "$program takes that from this machine"
  fi
done
expect_exit 0 "$bundle/bin/dt-train" --version
# Ranks as processes, where no Open MPI is.
run_ranks() {
  env -i HOME="$HOME" PATH="$bundle/bin:/usr/bin:/bin" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@" \
    mpirun --oversubscribe -n 3 dt-allreduce-bench -b 8 -e 8 -n 1
}
# shellcheck disable=SC2016 # the other shell's
hide=(unshare --mount bash -c 'for f in /usr/lib/*-linux-gnu/{openmpi,pmix2} /usr/share/openmpi /etc/openmpi; do [[ ! -e $f ]] || mount -t tmpfs none "$f"; done; "$@"' _)
[[ $(id -u) == 0 ]] || hide=()
expect_exit 0 run_ranks "${hide[@]}"
expect_match stdout '^# .*3 ranks'

expect_exit 0 "$bundle/gpu-check.sh"
for section in kernels sanitizer training layouts checkpoints nccl bench saving; do
  expect_match stdout "^$section +skipped +[^ ].*"
done
expect_match stdout '^0 ok, 0 FAIL, 8 skipped'
expect_exit 0 "$bundle/gpu-check.sh" bench layouts
expect_match stdout '^0 ok, 0 FAIL, 2 skipped'
expect_exit 2 "$bundle/gpu-check.sh" kernel
expect_match stderr "'kernel' is none of: kernels "

# What does not start or does not pass is told, and the other sections are run: with programs that are played.
play() { # FILE STATUS WORDS
  printf '#!/bin/bash\necho "%s"\nexit %d\n' "$3" "$2" >"$bundle/bin/$1"
}
for program in "$bundle"/bin/gpu_*; do play "$(basename "$program")" 0 "All tests passed"; done
play gpu_comm 42 "1 test failed"
cat >"$bundle/bin/gpu_kernels" <<'END'
#!/bin/bash
if [[ $1 == --list-test-names-only ]]; then printf 'a case\nother, odd\n'; fi
[[ $1 != other* ]] || exit "$([[ $1 == 'other\, odd' ]] && echo 3 || echo 0)"
END
printf '#!/bin/bash\n' >"$bundle/tests/cmd/dt-train/device_checkpoints.sh"
expect_exit 1 "$bundle/gpu-check.sh" kernels checkpoints
expect_match stdout '^tests: gpu_comm +all pass +FAIL +exit 42: 1 test failed'
expect_match stdout '^tests: gpu_kernels +all pass +FAIL +exit 1: 1 findings in 2 of 2 cases'
expect_match stdout '^tests: gpu_model +all pass +ok +All tests passed'
expect_match stdout '^checkpoints: CPU to GPU to CPU +same bits +ok +passed'
expect_match stdout ' ok, 2 FAIL, 0 skipped'
