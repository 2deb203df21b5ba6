#!/usr/bin/env bash
# submit.sh [options of dt-train]: submits the chain shard → train → merge and prints the jobs' ids. A stage starts when the previous one
# has succeeded, including requeues, and is cancelled when that one fails. Settings are environment variables:
#
#   DT_INPUT        text: files or folders; unset: no shard job, DT_DATA must exist
#   DT_TOKENIZER    tokenizer (default: that of dt-shard-data)
#   DT_DATA         token shards (default: shards)
#   DT_MODEL        preset or config.json (default: gpt2-124m)
#   DT_RUN          run directory (default: run)
#   DT_OUT          exported model (default: model)
#   DT_SHARD_ARGS   more options of dt-shard-data
#   DT_TRAIN_ARGS   more options of dt-train (default without arguments: --epochs 1 --save-every 500 --keep-last 3)
#   DT_MERGE_ARGS   more options of dt-merge, such as --overwrite when the chain is submitted again
#   DT_BIN          folder of the tools (default: beside installed scripts, else on PATH)
#   DT_PRELUDE      file that each job sources first, for example to load modules
#   DT_SRUN         more options of srun, which override those of the scripts, such as --mpi=pmix_v4 --cpu-bind=none. The scripts choose
#                   --mpi=pmix for Open MPI, pmi2 for MPICH and Intel MPI, cray_shasta for Cray MPICH
#   DT_WRAPPER      command before each tool, such as apptainer exec dt.sif
#   DT_SBATCH       options of sbatch for every stage, such as -p long -A project
#   DT_SHARD_SBATCH, DT_TRAIN_SBATCH, DT_MERGE_SBATCH   more options of sbatch for one stage, such as -N 4 -c 32 -t 12:00:00 --signal=USR1@600
#
# DT_INPUT, DT_*_ARGS, DT_SRUN, DT_WRAPPER and DT_*SBATCH are split at blanks, without regard to quotes. Give a value with blanks in
# DT_DATA, DT_RUN, …, or as an argument of submit.sh.
# All nodes must see the paths, and the folder in which you call submit.sh, where logs appear as dt-STAGE-ID.log. No other user may write
# to that folder, since Slurm follows links with these names.
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -nE '2,/^set/ s/^# ?//p' "${BASH_SOURCE[0]}"
  exit
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
submitted=()
# Cancel the submitted jobs if the chain cannot be completed.
trap '(($? == 0 || ${#submitted[@]} == 0)) || scancel "${submitted[@]}"' EXIT

# Fail now rather than in the queue. Without DT_INPUT the shards must exist.
refuse() {
  echo "submit.sh: $1" >&2
  exit 3
}
if [[ $(stat -c %A .) == d???????w? ]]; then
  echo "submit.sh: everybody may write to $PWD, where the jobs write their logs; submit from a folder that only you can write to" >&2
  exit 4
fi
if [[ -n ${DT_INPUT:-} ]]; then
  read -ra inputs <<<"${DT_INPUT//$'\n'/ }"
  for input in "${inputs[@]}"; do [[ -e $input ]] || refuse "DT_INPUT: $input does not exist"; done
elif [[ ! -e ${DT_DATA:-shards}/dataset.json ]]; then
  refuse "DT_DATA: ${DT_DATA:-shards} contains no token shards, and DT_INPUT is not set"
fi

# submit STAGE SBATCH_OPTIONS DEPENDENCY [arguments]: submits a stage and adds its id to $submitted.
submit() {
  local stage=$1 after=$3 id options
  options="${DT_SBATCH:-} $2"
  read -ra options <<<"${options//$'\n'/ }"
  [[ -z $after ]] || options+=(--dependency="afterok:$after" --kill-on-invalid-dep=yes)
  id=$(sbatch --parsable --export=ALL "${options[@]}" "$here/$stage.sbatch" "${@:4}")
  submitted+=("${id%%;*}") # ID;CLUSTER if there are several clusters
  echo "$stage=${id%%;*}"
}

shard=""
if [[ -n ${DT_INPUT:-} ]]; then
  submit shard "${DT_SHARD_SBATCH:-}" ""
  shard=${submitted[-1]}
fi
submit train "${DT_TRAIN_SBATCH:-}" "$shard" "$@"
submit merge "${DT_MERGE_SBATCH:-}" "${submitted[-1]}"
