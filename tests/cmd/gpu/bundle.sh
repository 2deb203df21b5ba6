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

# What is made of what programs measured: each line of gpu_rates is a row, and training tells of itself in its metrics.
play gpu_rates 0 $'product of a head\t1.000 ms, 97.0 % of the rate of cuBLASLt\'s fastest of 8'
play dt-shard-data 0 ""
cat >"$bundle/bin/dt-train" <<'END'
#!/bin/bash
while [[ $1 != --run ]]; do shift; done
mkdir "$2" || exit # each run is measured from its beginning
for ((step = 1; step <= 119; ++step)); do
  printf '{"kind":"train","step":%d,"loss":1.0,"step_s":%s,"tokens_per_s":%d,"mfu":0.5}\n' $step \
    "$((step > 60 && step <= 63 ? ${SLOWER:-1040} : 1000))e-4" $((1000 + step))
done >"$2/metrics.jsonl"
echo '{"kind":"checkpoint","step":60,"path":"p","bytes":8,"stall_s":0.012,"write_s":0.31}' >>"$2/metrics.jsonl"
echo 'dt-train: profile of step 14, rank 0: 1.0 s: forward 98.5 %, idle GPU 1.5 %; host: enqueuing 10.0 %
dt-train: GPU memory of cuda:0: 9.9 GiB used, 9.8 GiB estimated (0.990 of the memory used)' >&2
END
TORCH_PYTHON=/nowhere expect_exit 0 "$bundle/gpu-check.sh" bench saving
expect_match stdout '^product of a head +none +ok +1.000 ms, 97.0 %'
expect_match stdout '^dt-train llama-1b bf16, T 4096, micro-batch 4 of 16 +none +ok +1011 tokens/s, MFU 0.500, the GPU idle 1.5 %, memory estimated ÷ taken 0.990; beside its steps -1[0-9.]+ s, of them 0.3 to save'
expect_match stdout '^starting, by CUDA_MODULE_LOADING +none +ok +LAZY [0-9.]+ s; LAZY [0-9.]+ s; EAGER [0-9.]+ s; a run of two steps'
expect_match stdout '^steps of GPT-2 1.5B while saved ÷ otherwise .* ok +1.040 over 3 steps, stalled for 12 ms, saved in 0.3 s'
SLOWER=1100 expect_exit 1 "$bundle/gpu-check.sh" saving
expect_match stdout ' FAIL +exit 1: 1.100 over 3 steps, stalled for 12 ms'
