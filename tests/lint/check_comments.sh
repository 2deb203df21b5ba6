#!/usr/bin/env bash
# check_comments.sh [ROOT]: lists comments of libcore, cmd and tests that open with a word that depends on a noun elsewhere ("What messages call it",
# "Of a rank alone"), on lines of their own and after code. comment_openings.txt lists the exceptions, "FILE: opening words", at most 50.
# Exit codes: 0 clean, 1 something is listed.
set -uo pipefail

exceptions=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/comment_openings.txt
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" || exit 2
for root in libcore cmd tests; do [[ ! -d $root ]] || roots+=("$root"); done
openings='of|what|those|whether|where|who|whom|whose|which|how|that|why|until|else|somebody|everybody|nobody'

comments() {
  # shellcheck disable=SC2016 # awk's own variables
  find "${roots[@]}" \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 | sort -z | xargs -0 awk -v "openings=$openings" '
    FNR == 1 { inside = 0 }
    {
      text = ""
      if (match($0, /^[ \t]*\/\/+[ \t]*/)) {
        if (!inside) text = substr($0, RSTART + RLENGTH)
        inside = 1
      } else {
        inside = 0
        if (match($0, /[^:"\x27]\/\/+<?[ \t]+/)) text = substr($0, RSTART + RLENGTH)
      }
      if (tolower(text) ~ "^(" openings ")[^a-z_:(]") print FILENAME ": " text
    }'
}

if [[ $(grep -c . "$exceptions") -gt 50 ]]; then
  echo "comments: comment_openings.txt has more than 50 exceptions"
  exit 1
fi
if comments | awk 'FILENAME == ARGV[1] { if ($0 != "") excepted[++n] = $0; next }
    { for (i = 1; i <= n; i++) if (index($0, excepted[i]) == 1) next; print "comments: " $0 }' "$exceptions" - | grep .; then exit 1; fi
