#!/usr/bin/env bash
# check_dependencies.sh [--print] [ROOT]: README.md shows what dt is built from as libcore/dependencies.cmake lists it, and Spack's recipe
# depends on all of it. --print writes the table for README.md.
# Exit codes: 0 it does, 1 it does not.
set -euo pipefail
print=no
[[ ${1:-} != --print ]] || { print=yes && shift; }
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"

head='| to build dt | Debian | RHEL with EPEL | Spack |'
table=$(
  printf '%s\n|---|---|---|---|\n' "$head"
  sed -nE 's/^  "([^"]*)"\)?$/\1/p' libcore/dependencies.cmake |
    awk -F ' *[|] *' '{printf "| %s | %s | %s | %s |\n", $2, $4, $5, $6}'
)
if [[ $print = yes ]]; then
  echo "$table"
  exit 0
fi
recipe=jobs/site/spack/package.py
while read -r package; do
  case $package in
    gcc) package=cxx ;; # a virtual package, as is mpi
    openmpi) package=mpi ;;
  esac
  grep -q "^    [a-z_]*(\"${package}[\"@+~ -]" "$recipe" || { echo "$recipe does not depend on $package of libcore/dependencies.cmake" >&2 && exit 1; }
done < <(sed -nE 's/^  ".* \| ([^|"]*)"\)?$/\1/p' libcore/dependencies.cmake | sed 's/,\? or .*//; s/pkgconf$/pkgconfig/; s/^zlib$/zlib-api/')
if ! diff <(echo "$table") <(awk -v head="$head" '$0 == head {shown = 1} !/^\|/ {shown = 0} shown' README.md) >&2; then
  echo "README.md does not show libcore/dependencies.cmake as tests/lint/check_dependencies.sh --print writes it" >&2
  exit 1
fi
