#!/usr/bin/env bash
# check_paths.sh [ROOT]: lists paths in backticks that do not exist, in the documents of libcore and .github. A path is relative to its
# document, to libcore or to the root. `<tool>` and `*` stand for any name. `.cpp` after `a/b.hpp` is a/b.cpp, and `a/b` may be a/b.hpp or a/b.cpp.
# Backticks hold a path where they hold the name of a source file, or begin with a folder of one of these places.
# Exit codes: 0 clean, 1 something is listed, 2 usage.
set -euo pipefail

[[ $# -le 1 ]] || {
  echo "usage: check_paths.sh [ROOT]" >&2
  exit 2
}
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" || exit 2

mapfile -t documents < <(find libcore .github -name '*.md' 2>/dev/null | LC_ALL=C sort)
[[ ${#documents[@]} -gt 0 ]] || exit 0

# spans FILE...: the document, the line and the text of each code span of one word, outside of fences.
spans() {
  awk 'FNR == 1 {fence = 0} /^ *```/ {fence = !fence} fence {next}
    {
      line = $0
      while (match(line, /`[^` ]+`/)) {
        print FILENAME, FNR, substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
      }
    }' "$@"
}

status=0 path=
while read -r document line text; do
  folder=${document%/*}
  case $text in
    .hpp | .cpp | .cu | .cuh) path=${path%.*}$text ;;
    *[!A-Za-z0-9_./*\<\>-]* | /* | ..*) continue ;;
    *.hpp | *.cpp | *.cu | *.cuh | *.cmake | *.sh | *.sbatch | *.py | *.md | CMakeLists.txt) path=$text ;;
    */*)
      top=${text%%/*}
      [[ -d $folder/$top || -d libcore/$top || -d $top ]] || continue
      path=${text%/}
      ;;
    *) continue ;;
  esac
  pattern=${path//<tool>/*}
  for place in "$folder/" libcore/ ""; do
    [[ ! -e $place$pattern && ! -e $place$pattern.hpp && ! -e $place$pattern.cpp ]] || continue 2
    ! compgen -G "$place$pattern" >/dev/null || continue 2
  done
  echo "paths: $document:$line: $path does not exist"
  status=1
done < <(spans "${documents[@]}")
exit "$status"
