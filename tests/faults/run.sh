# Sourced by cases that put faults under dt-train's saving.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/../cmd/lib.sh"
export PYTHONDONTWRITEBYTECODE=1

# faults SCRIPT ARGUMENTS...: one of tests/faults/*.py, in a working folder of its own.
faults() {
  local script=$1
  shift
  rm -rf work && mkdir work
  (cd work && python3 "$DT_TESTS/faults/$script.py" "$@") || fail "$script $*"
}
