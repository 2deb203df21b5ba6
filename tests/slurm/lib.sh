# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
# Sourced by the cases in tests/slurm: a cluster of the case's own, up from the start and down at its end, and ways to send it the
# scripts of jobs/ and to watch them. All of a case's files lie in its folder, which the nodes see.
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Long to follow.
# shellcheck source=/dev/null
source "$tests/../cmd/training.sh"

# shellcheck disable=SC2034
jobs=$(cd "$tests/../../jobs" && pwd) # for the cases
# How srun connects the ranks of the tools' MPI.
# shellcheck disable=SC2034
if [[ ${DT_MPI:-openmpi} == openmpi ]]; then mpi_option=--mpi=pmix; else mpi_option=--mpi=pmi2; fi # for the cases
# shellcheck disable=SC2154 # the folder is the other file's
export DT_CLUSTER=$case_dir/cluster DT_CLUSTER_SHARE=$case_dir

at_exit() {
  local code=$? log
  if ((code != 0 && code != 77)); then
    cluster status || true
    for log in ./*.log "$DT_CLUSTER"/log/slurm*.log; do
      [[ ! -e $log ]] || { echo "--- $log" && tail -n 60 "$log"; }
    done
  fi >&2
  cluster down || true
}
cluster() { "$tests/cluster" "$@"; }
on_login() { cluster run "$@"; }

reason=$(cluster up 2>&1) || {
  (($? != 77)) || skip "${reason#cluster: }"
  fail "$reason"
}

# wait_until SECONDS WHAT COMMAND…
wait_until() {
  local end=$((SECONDS + $1))
  until "${@:3}"; do
    ((SECONDS < end)) || fail "not in $1 s: $2"
    sleep 0.1
  done
}

# job_field ID NAME: as scontrol calls it.
job_field() { on_login scontrol --oneliner show job "$1" | sed -nE "s/.* $2=([^ ]*).*/\1/p"; }

has_state() { [[ $(job_field "$1" JobState) =~ ^($2)$ ]]; }

# wait_for_job ID SECONDS [STATE]: until it ended, as it should, on an idle machine in SECONDS.
wait_for_job() {
  local expected=${3:-COMPLETED}
  wait_until "$(($2 + ${hang_s:?}))" "the end of job $1" has_state "$1" 'COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY|BOOT_FAIL'
  expect_equal "$(job_field "$1" JobState)" "$expected" "state of job $1"
}

# nodes_of ID: of a running job, a line each; the batch script's first.
nodes_of() { on_login scontrol show hostnames "$(job_field "$1" NodeList)"; }

# give_up NODE…: Slurm takes them for dead at once, and not only after SlurmdTimeout.
give_up() {
  local node
  for node in "$@"; do on_login scontrol update "nodename=$node" state=down reason=test; done
}

# What each job of a case trains: four lanes, so that one, two and four ranks give the same bits.
# job_options STEPS: into DT_TRAIN_ARGS, for jobs, and $options, for the undisturbed run.
job_options() {
  options=(--model llama-tiny --steps "$1" --global-batch 8 --sequence-length 64 --micro-batch 2 --grad-lanes 4 --threads 1
    --lr 1e-3 --save-every 10 --keep-last 3 --eval-batches 1 --peak-flops 1e9)
  export DT_MODEL=llama-tiny DT_TRAIN_ARGS="${options[*]:2}"
}

# slow_links RATE|none: so that a step takes as long on any machine, of two ranks 60 ms at 100mbit and 0.3 s at 20mbit.
slow_links() {
  local node
  for node in n1 n2 n3 n4; do cluster shape "$node" "$1"; done
}

# undisturbed RUN: on this machine itself.
undisturbed() {
  dt-train --quiet --data shards --run "$1" "${options[@]}" >/dev/null || fail "undisturbed run"
}

# submit_training RUN NODES [sbatch's options]: prints the job's id.
submit_training() {
  DT_DATA=shards DT_RUN=$1 on_login sbatch --parsable -N "$2" "${@:3}" "$jobs/train.sbatch"
}

# num_generations RUN: how often it was started.
num_generations() { find "$1/generations" -type f -size +0 2>/dev/null | wc -l; }
has_generations() { (($(num_generations "$1") >= $2)); }
