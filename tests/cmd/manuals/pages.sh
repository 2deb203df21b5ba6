#!/usr/bin/env bash
# Man pages: mandoc finds no fault, and each has the options of its tool's parser and no others.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
command -v mandoc >/dev/null || skip "mandoc is not installed"
share=$DT_BUILD/share
tools=(dt-allreduce-bench dt-checkpoint dt-merge dt-shard-data dt-train)

written=("$DT_TESTS"/../cmd/man/*.[57])
((${#written[@]} >= 3)) || fail "no pages beside the generator"
for page in "$share"/man/man1/*.1 "$share"/man/man7/*.7 "${written[@]}"; do
  mandoc -T lint -W warning "$page" >faults || { cat faults >&2 && fail "mandoc: $page"; }
  [[ ! -s faults ]] || fail "mandoc: $page: $(<faults)"
done

# options_of TOOL: as the parser prints its table
options_of() {
  COLUMNS=400 "$1" --help-all | sed -nE 's/^ +(-[a-z], )?--(\[no-\])?([a-z0-9-]+)( .*|$)/\2\3/p' |
    sed -E 's/^\[no-\](.*)/\1\nno-\1/' | sort
}
for tool in "${tools[@]}"; do
  page=$share/man/man1/$tool.1
  options_of "$tool" >parser
  grep '^\.It .*Fl ' "$page" | tr -d '\134' | grep -oE 'Fl -[a-z0-9-]+' | sed 's/^Fl -//' | sort >in_page
  (($(wc -l <parser) > 10)) || fail "$tool: options are not recognized"
  diff parser in_page >difference || { cat difference >&2 && fail "$tool: options in the parser (<) or its page (>) alone"; }
  for section in NAME SYNOPSIS DESCRIPTION OPTIONS ENVIRONMENT FILES 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
    grep -qx "\.Sh $section" "$page" || fail "$tool: no section $section"
  done
  # Every page that is referred to is there.
  while read -r name section; do
    [[ $name == sbatch || -e $share/man/man$section/$name.$section || -e $DT_TESTS/../cmd/man/$name.$section ]] ||
      fail "$page refers to $name($section)"
  done < <(sed -nE 's/^\.Xr ([^ ]+) ([0-9]).*/\1 \2/p' "$page" "${written[@]}")
done
# Pages and completions are the same on any machine: with one core, too, and with settings of this one's user.
core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
date=$(sed -n 's/^\.Dd //p' "$share/man/man1/dt-train.1")
expect_exit 0 env -i COLUMNS=40 TMPDIR="$PWD" taskset -c "$core" "$DT_BUILD/man/write-manuals" "$PWD/again" "$date"
diff -r "$share" again >difference || { cat difference >&2 && fail "the machine is in pages or completions"; }

# explained TOOL HEADING...: columns that a tool prints are in its page
explained() {
  local page=$share/man/man1/$1.1 column
  for column in "${@:2}"; do
    mandoc -T ascii "$page" | col -b | tr -s '[:space:]' ' ' | grep -qF -- "$column" || fail "$1: its page lacks the column '$column'"
  done
}
make_checkpoint run 10 >/dev/null || fail "make_checkpoint"
ckpt=run/checkpoints/step-00000010.g1
dt-checkpoint list run | head -n 1 | tr -s ' ' '\n' >columns
mapfile -t columns <columns
explained dt-checkpoint "${columns[@]}"
# Each entry of the page's section is a line or a column of show.
dt-checkpoint show "$ckpt" >shown
sed -n '/^\.Sh OUTPUT OF SHOW/,/^\.Sh/ s/^\.It "\\&\(.*\)"$/\1/p' "$share/man/man1/dt-checkpoint.1" | sed 's/, /\n/g' >entries
(($(wc -l <entries) >= 8)) || fail "dt-checkpoint: entries of show are not recognized"
while read -r entry; do
  grep -qE "^$entry  |^tensor .* $entry( |$)" shown || fail "dt-checkpoint: show prints no '$entry'"
done <entries
dt-checkpoint diff "$ckpt" "$ckpt" 2>/dev/null | head -n 1 | sed -E 's/  +/\n/g' >columns
mapfile -t columns <columns
explained dt-checkpoint "${columns[@]}"
echo '{"messages": [{"role": "a", "content": "x"}, {"role": "b", "content": "y"}]}' >chat.jsonl
dt-shard-data --out dataset --turn-format '{role}{content}' --loss-on b chat.jsonl 2>/dev/null | head -n 1 | tr -s ' ' '\n' >columns
mapfile -t columns <columns
explained dt-shard-data "${columns[@]}"
dt-allreduce-bench -e 8 -n 1 2>/dev/null | sed -nE '/^# +size/p' | tr -d '#' | tr -s ' ' '\n' | grep . >columns
mapfile -t columns <columns
explained dt-allreduce-bench "${columns[@]}"
