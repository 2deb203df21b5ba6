#!/usr/bin/env bash
# check_sentences.sh [--print] [ROOT]: lists documents whose average sentence has more than 18 words, sentences of more than 40, and documents that are missing.
# Code blocks, tables and headings do not count. A code span counts as one word, and a link as its text. Text without an end mark, such as a short list
# item, counts for the longest sentence alone. --print shows the figures of the documents that exist, and judges nothing.
# Exit codes: 0 clean, 1 something is listed, 2 usage.
set -euo pipefail

print=0
if [[ ${1:-} == --print ]]; then
  print=1
  shift
fi
[[ $# -le 1 ]] || {
  echo "usage: check_sentences.sh [--print] [ROOT]" >&2
  exit 2
}
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" || exit 2

documents=(README.md jobs/README.md tests/README.md tests/bench/README.md libcore/README.md libcore/FORMATS.md libcore/SECURITY.md
  .github/CONTRIBUTING.md)
for tool in cmd/dt-*/; do
  documents+=("${tool}README.md")
  for page in "$tool"*.md; do [[ $page == *'*.md' || $page == */README.md ]] || documents+=("$page"); done
done

status=0
for document in "${documents[@]}"; do
  if [[ ! -f $document ]]; then
    ((print)) || { echo "sentences: $document is missing" && status=1; }
    continue
  fi
  LC_ALL=C awk -v "document=$document" -v "print_figures=$print" '
    # Adds a line of prose to the paragraph, or ends the paragraph.
    function add(text) {
      if (paragraph == "") first_line = FNR
      paragraph = paragraph text "\n"
    }
    function end_paragraph(    words, count, i, line, open, start, opening) {
      replace("``([^`]|`[^`])*``")
      replace("`[^`]*`")
      gsub(/\]\([^)]*\)/, "", paragraph)  # the address of a link
      gsub(/<[\/a-zA-Z!][^>]*>/, "", paragraph)
      gsub(/\n/, " \n ", paragraph)
      line = first_line
      count = split(paragraph, words, / +/)
      for (i = 1; i <= count; ++i) {
        if (words[i] == "\n") {
          ++line
          continue
        }
        if (words[i] !~ /[A-Za-z0-9\200-\377]/) continue
        if (++open == 1) start = line
        opening = open == 1 ? words[i] : open <= 8 ? opening " " words[i] : opening
        if (words[i] ~ /[.!?]["\47)\]*_]*$/ && tolower(words[i]) !~ /^\(?(e\.g|i\.e|cf|vs|al)\.$/) {
          end_sentence(open, start, opening, 1)
          open = 0
        }
      }
      end_sentence(open, start, opening, paragraph ~ /:[*_]*[ \n]*$/)
      paragraph = ""
    }
    # Puts one word in place of each match in the paragraph. Newlines stay, so that lines can be counted.
    function replace(pattern,    span) {
      while (match(paragraph, pattern)) {
        span = substr(paragraph, RSTART, RLENGTH)
        gsub(/[^\n]/, "", span)
        paragraph = substr(paragraph, 1, RSTART - 1) "CODE" span substr(paragraph, RSTART + RLENGTH)
      }
    }
    function end_sentence(num_words, start, opening, has_end) {
      if (num_words > longest) longest = num_words
      if (num_words > 40 && !print_figures) {
        printf "sentences: %s:%d: %d words, at most 40: %s ...\n", document, start, num_words, opening
        ++offences
      }
      if (!has_end || num_words == 0) return
      ++sentences
      total += num_words
    }

    /^[ \t]*(```|~~~)/ { end_paragraph(); in_fence = !in_fence; next }
    in_fence { next }
    /^[ \t]*$/ { end_paragraph(); after_blank = 1; next }
    {
      # Text that is indented by four blanks is code, within a list by six.
      is_code = (after_blank || in_code) && match($0, /^ */) && RLENGTH >= (in_list ? 6 : 4)
      after_blank = 0
      in_code = is_code
      if (is_code) next
    }
    /^#/ || /^[ \t]*\|/ || /^\[[^\]]*\]: / { end_paragraph(); in_list = 0; next }
    {
      sub(/^[ \t]*>[ \t]?/, "")
      if (sub(/^[ \t]*([-*+]|[0-9]+[.)])[ \t]+/, "")) {
        end_paragraph()
        in_list = 1
      } else if (paragraph == "" && $0 !~ /^ /) {
        in_list = 0
      }
      add($0)
    }
    END {
      end_paragraph()
      if (print_figures) {
        printf "%s: %d sentences, %.1f words on average, %d in the longest\n", document, sentences, sentences ? total / sentences : 0, longest
      } else if (total > 18 * sentences) {
        printf "sentences: %s: %.1f words in a sentence on average, at most 18\n", document, total / sentences
        ++offences
      }
      exit offences > 0
    }' "$document" || status=1
done
exit "$status"
