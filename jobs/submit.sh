#!/usr/bin/env bash
# submit.sh [dt-train's options]: submits the chain shard → train → merge and prints the jobs' ids. Each stage starts when
# the one before has succeeded, requeues and all, and is cancelled when that failed. Settings are environment variables:
#
#   DT_INPUT        text, files or folders as words; unset: DT_DATA is there, no job makes it
#   DT_TOKENIZER    default: dt-shard-data's
#   DT_DATA         token shards (default: shards)
#   DT_MODEL        preset or config.json (default: gpt2-124m)
#   DT_RUN          run directory (default: run)
#   DT_OUT          the model (default: model)
#   DT_SHARD_ARGS   more options of dt-shard-data, as words
#   DT_TRAIN_ARGS   more options of dt-train, as words (default, where no argument is given either: --epochs 1 --save-every 500
#                   --keep-last 3)
#   DT_MERGE_ARGS   more options of dt-merge, as words: --overwrite where the chain is submitted again
#   DT_BIN          where the tools are (default: beside scripts that are installed, else on PATH)
#   DT_PRELUDE      a file that each job sources first, such as one that loads modules
#   DT_SRUN         more options of srun, as words, which win over the scripts': --mpi=pmix_v4 --cpu-bind=none. The scripts
#                   choose --mpi=pmix for Open MPI, pmi2 for MPICH and Intel MPI, cray_shasta for Cray MPICH
#   DT_WRAPPER      words before each tool: apptainer exec dt.sif
#   DT_SBATCH       sbatch's options for every stage, as words: -p long -A project
#   DT_SHARD_SBATCH, DT_TRAIN_SBATCH, DT_MERGE_SBATCH   more for one stage: -N 4 -c 32 -t 12:00:00 --signal=USR1@600
#
# "As words": split at blanks; quotes have no meaning. A value with blanks goes into DT_DATA, DT_RUN, …, or here as an argument.
# The nodes must see all paths, and the folder that this is called in, where logs appear as dt-STAGE-ID.log. Nobody else may write
# to that folder: Slurm follows links of these names.
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -nE '2,/^set/ s/^# ?//p' "${BASH_SOURCE[0]}"
  exit
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
submitted=()
# Half a chain is of no use.
trap '(($? == 0 || ${#submitted[@]} == 0)) || scancel "${submitted[@]}"' EXIT

# What would fail in the queue can fail now. Without DT_INPUT the shards must be there.
refuse() {
  echo "submit.sh: $1" >&2
  exit 3
}
if [[ $(stat -c %A .) == d???????w? ]]; then
  echo "submit.sh: everybody may write to $PWD, where the jobs' logs would appear: submit from a folder of your own" >&2
  exit 4
fi
if [[ -n ${DT_INPUT:-} ]]; then
  read -ra inputs <<<"${DT_INPUT//$'\n'/ }"
  for input in "${inputs[@]}"; do [[ -e $input ]] || refuse "DT_INPUT: $input does not exist"; done
elif [[ ! -e ${DT_DATA:-shards}/dataset.json ]]; then
  refuse "DT_DATA: ${DT_DATA:-shards} holds no token shards, and no DT_INPUT says what to make them from"
fi

# submit STAGE SBATCH_OPTIONS DEPENDENCY [arguments]: adds its id to $submitted.
submit() {
  local stage=$1 after=$3 id options
  options="${DT_SBATCH:-} $2"
  read -ra options <<<"${options//$'\n'/ }"
  [[ -z $after ]] || options+=(--dependency="afterok:$after" --kill-on-invalid-dep=yes)
  id=$(sbatch --parsable --export=ALL "${options[@]}" "$here/$stage.sbatch" "${@:4}")
  submitted+=("${id%%;*}") # ID;CLUSTER where there are several
  echo "$stage=${id%%;*}"
}

shard=""
if [[ -n ${DT_INPUT:-} ]]; then
  submit shard "${DT_SHARD_SBATCH:-}" ""
  shard=${submitted[-1]}
fi
submit train "${DT_TRAIN_SBATCH:-}" "$shard" "$@"
submit merge "${DT_MERGE_SBATCH:-}" "${submitted[-1]}"
