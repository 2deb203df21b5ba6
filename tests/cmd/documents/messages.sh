#!/usr/bin/env bash
# The messages that the Slurm guide explains are those that tools and job scripts print.
source "$(dirname "${BASH_SOURCE[0]}")/../documents.sh"

root=$(realpath "$DT_TESTS/..")
[[ -f $root/jobs/README.md ]] || skip "there are no documents here"
# shellcheck disable=SC2016 # backquotes of code spans
mapfile -t messages < <(sed -n '/^### Messages of dt$/,/^##* Messages of Slurm/ s/^| `\([^`]*\)`.*/\1/p' "$root/jobs/README.md")
((${#messages[@]} >= 10)) || fail "jobs/README.md explains ${#messages[@]} messages"
unknown=0
for message in "${messages[@]}"; do
  # An ellipsis stands for what differs.
  while read -r part; do
    [[ -n $part ]] || continue
    grep -rqF --include='*.cpp' --include='*.sbatch' --include='*.sh' -- "$part" "$root"/{jobs,cmd,libcore} && continue
    echo "jobs/README.md: nothing prints '$part' of '$message'" >&2
    unknown=1
  done <<<"${message//…/$'\n'}"
done
((unknown == 0)) || fail "messages have changed"
