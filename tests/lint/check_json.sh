#!/usr/bin/env bash
# check_json.sh [ROOT]: lists where libcore and cmd read JSON by the library's own parser, which takes time by the square of an object's
# members and knows no bounds. base/io/json reads it.
# Exit codes: 0 clean, 1 something is listed.
set -uo pipefail

cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" || exit 2
roots=(libcore)
[[ -d cmd ]] && roots+=(cmd)
excepted='^libcore/base/io/json\.cpp:'
if grep -rnE '\b([Jj]son|ordered_json)::parse\(' "${roots[@]}" | grep -vE "$excepted" | sed 's/^/json: /'; then exit 1; fi
