#!/usr/bin/env bash
# check_copies.sh [ROOT]: text that must stand in several files is equal there.
# - Lines that job scripts repeat. Slurm runs a copy of a script in a folder of the node, so scripts cannot source a common file beside them.
#   Names of tools may differ, and a script may retry a command of Slurm (patiently).
# - The date of man pages that are written by hand: DT_RELEASE_DATE of CMakeLists.txt, which generated pages get.
# Exit codes: 0 they are equal, 1 they differ.
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"
status=0

# block FIRST LAST SCRIPT: prints the lines from the first that begins with FIRST to the next that begins with LAST.
block() {
  FIRST=$1 LAST=$2 awk 'index($0, ENVIRON["FIRST"]) == 1 {inside = 1} inside {print} inside && index($0, ENVIRON["LAST"]) == 1 {exit}' "$3" |
    sed -E 's/\bpatiently //; s/\bdt-(allreduce-bench|merge|shard-data|train)\b/TOOL/g'
}

# expect_equal FIRST LAST SCRIPT...: the scripts have the same block.
expect_equal() {
  local text expected script
  expected=$(block "$1" "$2" "$3")
  for script in "${@:3}"; do
    text=$(block "$1" "$2" "$script")
    if [[ -z $text ]]; then
      echo "copies: $script has no line '$1…'" && status=1
    elif [[ $text != "$expected" ]]; then
      echo "copies: $script and $3 differ after '$1…':" && status=1
      diff <(echo "$expected") <(echo "$text") || true
    fi
  done
}

# shellcheck disable=SC2016  # patterns are lines of scripts, which are not expanded
compare_scripts() {
  local all=(jobs/*.sbatch) with_srun with_ranks # all but merge; those that start ranks
  mapfile -t with_srun < <(grep -lE '^ *(exec )?srun ' "${all[@]}")
  mapfile -t with_ranks < <(grep -lF 'srun --mpi="$mpi"' "${all[@]}")
  ((${#with_srun[@]} > 1 && ${#with_ranks[@]} > 1)) || { echo "copies: no job scripts that call srun" && status=1 && return; }
  expect_equal 'set -euo pipefail' 'set -euo pipefail' "${all[@]}"
  expect_equal '# DT_PRELUDE: ' 'fi' "${all[@]}"
  expect_equal '# Installed scripts use ' '[[ -z ${DT_BIN:-} ' "${all[@]}"
  expect_equal 'read -ra wrapper' 'read -ra wrapper' "${all[@]}"
  expect_equal 'srun_words=' 'read -ra wrapper' "${with_srun[@]}"
  expect_equal '# Slurm 22.05 ' '[[ -z ${SLURM_CPUS_PER_TASK:-} ' "${with_srun[@]}"
  expect_equal '# By default Slurm shows ' 'fi' "${with_ranks[@]}"
  expect_equal '# The MPI that ' 'export SLURM_PMIX_FENCE' "${with_ranks[@]}"
  expect_equal '# A node rejects steps ' '[[ -z ${SLURM_RESTART_COUNT:-} ' jobs/shard.sbatch jobs/train.sbatch
}

compare_dates() {
  local date page
  date=$(sed -nE 's/^set\(DT_RELEASE_DATE "([^"]+)"\).*/\1/p' CMakeLists.txt)
  [[ -n $date ]] || { echo "copies: CMakeLists.txt sets no DT_RELEASE_DATE" && status=1 && return; }
  for page in cmd/man/*.[1-8]; do
    [[ $(grep '^\.Dd' "$page") == ".Dd $date" ]] || { echo "copies: $page lacks the line '.Dd $date', the date in CMakeLists.txt" && status=1; }
  done
}

compare_scripts
compare_dates
exit "$status"
