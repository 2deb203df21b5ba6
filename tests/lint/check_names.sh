#!/usr/bin/env bash
# check_names.sh [ROOT]: lists declarations (types, functions, members, enumerators) and files of libcore and cmd with a name that retired_names.txt retires, and
# the name to take. Comments and texts are not read.
# Exit codes: 0 clean, 1 something is listed, 2 the list cannot be read.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1:-$here/../..}"
roots=(libcore)
[[ -d cmd ]] && roots+=(cmd)
{
  # Prototypes (p) count, preprocessor macros (d) do not.
  ctags -x --_xformat=$'%F\t%n\t%N' --languages=C++ --langmap=C++:+.cu.cuh --kinds-C++=+p-d -R "${roots[@]}"
  # A file is named for what it declares.
  find "${roots[@]}" -name '*.[hc]*' | sed -E 's,(.*/)?([^/.]+)\..*,&\t0\t\2,'
  find "${roots[@]}" -mindepth 1 -type d | sed -E 's,(.*/)?([^/]+),&/\t0\t\2,'
} | awk -F'\t' -v list="$here/retired_names.txt" '
  BEGIN {
    while ((status = (getline line < list)) > 0) {
      if (line ~ /^(#|$)/) continue
      split(line, fields, /  +/)
      instead[fields[1], fields[2]] = fields[3]
      ++num_names
    }
    if (num_names == 0) exit 2
  }
  {
    split($1, folders, "/")
    module = folders[1] == "cmd" ? "cmd" : folders[2]
    name = (("*", $3) in instead) ? "*" : module
    if ((name, $3) in instead) {
      printf "names: %s: %s is retired: %s\n", $2 == 0 ? $1 : $1 ":" $2, $3, instead[name, $3]
      ++offences
    }
  }
  END { exit num_names == 0 ? 2 : offences > 0 }'
