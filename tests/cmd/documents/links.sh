#!/usr/bin/env bash
# Every link between documents leads to a file, and to a heading where it names one.
source "$(dirname "${BASH_SOURCE[0]}")/../documents.sh"

root=$(realpath "$DT_TESTS/..")
documents=()
list_documents "$root"

# anchors FILE: the anchors that GitHub gives to its headings.
anchors() {
  awk '/^```/ {fence = !fence} !fence && /^#+ / {sub(/^#+ +/, ""); print tolower($0)}' "$1" | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

failed=0
for document in "${documents[@]}"; do
  while read -r target; do
    path=${target%%#*} anchor=''
    [[ $target != *#* ]] || anchor=${target#*#}
    file=$root/$document
    [[ -z $path ]] || file=$(dirname "$file")/$path
    if [[ ! -e $file ]]; then
      echo "$document: no such file: $target" >&2
    elif [[ -n $anchor ]] && ! anchors "$file" | grep -qx -- "$anchor"; then
      echo "$document: no such heading: $target" >&2
    else
      continue
    fi
    failed=1
  done < <(awk '/^```/ {fence = !fence} !fence' "$root/$document" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' | grep -vE '^[a-z]+:' || true)
done
((failed == 0)) || fail "links lead nowhere"
