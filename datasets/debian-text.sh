#!/usr/bin/env bash
# debian-text.sh OUT_DIR [MIN_BYTES]: collects English text from a Debian machine with dt's build dependencies, without a network:
# documentation of packages, the manual of Perl, and the comments of C and C++ headers. It stops at MIN_BYTES (default: 6000000). The order
# is fixed, so the same packages give the same files. It prints the bytes and files of each source.
set -euo pipefail
export LC_ALL=C

out=${1:?usage: debian-text.sh OUT_DIR [MIN_BYTES]}
min_bytes=${2:-6000000}

if [[ ! $min_bytes =~ ^[1-9][0-9]*$ ]]; then
  echo "debian-text.sh: '$min_bytes' is not a number of bytes" >&2
  exit 2
fi
if [[ -e $out ]]; then
  echo "debian-text.sh: $out already exists; give another name, or remove it" >&2
  exit 3
fi
mkdir -p "$(dirname "$out")"
work=$(mktemp -d "${out%/}.tmp-XXXXXX")
trap 'rm -rf "$work"' EXIT

documentation() {
  find /usr/share/common-licenses -type f 2>/dev/null | sort
  find /usr/share/doc -type f \( -name 'README*' -o -name 'NEWS*' -o -name '*FAQ*' -o -name '*.txt' -o -name '*.txt.gz' \
    -o -name '*.md' -o -name '*.md.gz' -o -name '*.rst' -o -name '*.rst.gz' \) 2>/dev/null |
    sed -E '/\/tests?\/|\.(html|json|pdf|ps|xml|log)(\.gz)?$/d' | sort
}
perl_manual() { find /usr/share/perl /usr/share/perl5 -type f \( -name '*.pod' -o -name '*.pm' \) 2>/dev/null | sort; }
headers() { find /usr/include -type f \( -name '*.hpp' -o -name '*.h' -o -path '*/c++/*' \) 2>/dev/null | sort; }

# Reads lines "source path" and writes the text of each file to work/source/number.txt. It removes markup, control characters, trailing
# blanks, runs of empty lines, and long lines that occurred before, since thousands of files begin with a licence. It skips files that are
# short or not English, and cuts long ones, so that none dominates.
# shellcheck disable=SC2016
collect='
  function plain(line) { return line }
  function pod(line) {
    if (line ~ /^=cut/) { in_pod = 0; return "" }
    if (line ~ /^=[a-z]/) { in_pod = 1; sub(/^=[a-z0-9]+ */, "", line) }
    while (match(line, /[A-Z]<[^<>]*>/))
      line = substr(line, 1, RSTART - 1) substr(line, RSTART + 2, RLENGTH - 3) substr(line, RSTART + RLENGTH)
    return in_pod ? line : ""
  }
  function comment(line) {
    return sub(/^[ \t]*(\/\/+[!<]?|\/?\*+[!<\/]?) ?/, "", line) ? line : ""
  }
  function add(line) {
    gsub(/[\001-\010\013-\037\177]/, "", line)
    sub(/[ \t]+$/, "", line)
    if (length(line) > 40) {
      if (line in known) return
      known[line] = 1
    }
    if (line == "") { empty = 1; return }
    if (empty && text != "") text = text "\n"
    empty = 0
    text = text line "\n"
    foreign += gsub(/[\200-\377]/, "&", line)
    n = split(tolower(line), words, /[^a-z]+/)
    num_words += n
    for (i = 1; i <= n; i++) if (words[i] in common) num_common++
  }
  function quoted(path) {
    gsub(/\047/, "\047\\\047\047", path)
    return "\047" path "\047"
  }
  function read_file(path, is_gz,   from, line, status) {
    text = ""; empty = 0; foreign = 0; num_words = 0; num_common = 0; in_pod = 0
    if (is_gz) from = "gzip -dc " quoted(path) " 2>/dev/null"
    while ((status = is_gz ? (from | getline line) : (getline line < path)) > 0 && length(text) < 200000)
      add(source == "perl" ? pod(line) : source == "headers" ? comment(line) : plain(line))
    close(is_gz ? from : path)
  }
  BEGIN {
    split("the of to and is in that for a be this it with are by as or on", list, " ")
    for (i in list) common[list[i]] = 1
    sources = "doc perl headers"
  }
  total >= min_bytes { next }
  {
    source = $1
    read_file(substr($0, length(source) + 2), $0 ~ /\.gz$/)
    if (length(text) < 2000 || foreign * 50 > length(text) || num_common * 5 < num_words) next
    name = sprintf("%s/%s/%05d.txt", work, source, files[source]++)
    printf "%s", text > name
    close(name)
    bytes[source] += length(text)
    total += length(text)
  }
  END {
    n = split(sources, list, " ")
    for (i = 1; i <= n; i++) printf "%-8s %9d bytes %6d files\n", list[i], bytes[list[i]], files[list[i]]
    printf "%-8s %9d bytes\n", "total", total
    exit total < min_bytes
  }'

mkdir "$work"/{doc,perl,headers}
set +o pipefail # find fails if a folder is missing
if ! { documentation | sed 's/^/doc /'; perl_manual | sed 's/^/perl /'; headers | sed 's/^/headers /'; } |
  awk -v work="$work" -v min_bytes="$min_bytes" "$collect"; then
  echo "debian-text.sh: this machine has less than $min_bytes bytes of text; install perl-doc or libboost-dev, or give a smaller MIN_BYTES" >&2
  exit 3
fi

# Remove invalid UTF-8 from files that are not ASCII.
grep -rlZ $'[\200-\377]' "$work" | while IFS= read -r -d '' file; do
  iconv -f UTF-8 -t UTF-8 -c "$file" >"$work/valid" || true
  mv "$work/valid" "$file"
done
find "$work" -type d -empty -delete
chmod 755 "$work"
mv -T "$work" "$out"
