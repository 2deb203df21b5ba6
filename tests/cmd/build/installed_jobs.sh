#!/usr/bin/env bash
# Installed job scripts take the tools that were installed with them.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
prefix="$PWD/a prefix"
expect_exit 0 cmake --install "$DT_BUILD" --component documents --prefix "$prefix"
mkdir "$prefix/bin" played elsewhere
printf '#!/bin/sh\n' | tee "$prefix/bin/dt-allreduce-bench" >elsewhere/dt-allreduce-bench
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\ncommand -v dt-allreduce-bench\n' >played/srun
printf '#!/bin/sh\nprintf "JobId=1 JobName=dt\\n   Command=%%s -o all\\n" "%s/share/dt/jobs/bench.sbatch"\n' "$prefix" >played/scontrol
chmod +x "$prefix/bin/dt-allreduce-bench" elsewhere/dt-allreduce-bench played/*
export PATH=$PWD/played:$PWD/elsewhere:$PATH SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=1
unset DT_BIN DT_PRELUDE DT_SRUN DT_WRAPPER "${!SLURM_GPU@}"

# takes TOOL SCRIPT: the one that a job starts
takes() {
  expect_exit 0 bash "$2"
  expect_equal "$(cat stdout)" "$1" "$2"
}
takes "$prefix/bin/dt-allreduce-bench" "$prefix/share/dt/jobs/bench.sbatch"
cp "$prefix/share/dt/jobs/bench.sbatch" slurm_script # as Slurm names its copy
takes "$prefix/bin/dt-allreduce-bench" slurm_script
cp slurm_script bench.sbatch # a user's own
takes "$PWD/elsewhere/dt-allreduce-bench" bench.sbatch
DT_BIN=$PWD/elsewhere takes "$PWD/elsewhere/dt-allreduce-bench" slurm_script
mv played/scontrol played/answer
printf '#!/bin/sh\n[ -e asked ] && exec answer\ntouch asked\nexit 1\n' >played/scontrol # a controller that is restarting
chmod +x played/scontrol
cp "$prefix/share/dt/jobs/train.sbatch" slurm_script
takes "$prefix/bin/dt-allreduce-bench" slurm_script
rm "$prefix/bin/dt-allreduce-bench" # the scripts alone, as for tools in a container
takes "$PWD/elsewhere/dt-allreduce-bench" slurm_script

expect_exit 0 bash "$prefix/share/dt/jobs/submit.sh" --help
[[ -x $prefix/share/dt/datasets/debian-text.sh ]] || fail "the demo's text recipe is not installed"
