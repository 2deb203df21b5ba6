# Sourced by cases that compare layouts.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/ranks.sh"

# compare KIND LAYOUTS [options]
compare() {
  local kind=$1 layouts=$2
  shift 2
  arguments unused "$@"
  train_args=("${train_args[@]:2}" --compare-layouts "$layouts") # no run
  local without=() i
  for ((i = 0; i < ${#train_args[@]}; ++i)); do
    if [[ ${train_args[i]} == --eval-batches || ${train_args[i]} == --peak-flops ]]; then ((++i)) && continue; fi
    without+=("${train_args[i]}")
  done
  case $kind in
    mpi=*) mpi "${kind#mpi=}" dt-train "${without[@]}" ;;
    *) dt-train "${without[@]}" --comm "$kind" ;;
  esac
}
# equal_layouts: how many of the last comparison's have the reference's weights.
equal_layouts() { grep -c '"weights_equal":true' stdout; }
