#!/usr/bin/env bash
# Completions for bash and zsh.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
share=$DT_BUILD/share

# completed WORD...: what bash offers for the last word of a command line, sorted
completed() {
  (
    tool=$1
    # shellcheck source=/dev/null
    source "$share/bash-completion/completions/$tool"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    "_${tool//-/_}"
    printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
  )
}
mkdir -p data/one data/two
touch data/config.json
expect_equal "$(completed dt-train --devi)" "--device"
expect_equal "$(completed dt-train --device '')" "auto cpu cuda"
expect_equal "$(completed dt-train --device = cu)" "cuda" "--device=cu"
expect_equal "$(completed dt-train --device =)" "auto cpu cuda" "--device="
expect_equal "$(completed dt-train --overl)" "--overlap"
expect_equal "$(completed dt-train --no-overl)" "--no-overlap"
expect_equal "$(completed dt-train --model data/)" "data/config.json data/one data/two"
expect_equal "$(completed dt-train --model llama-t)" "llama-tiny"
expect_equal "$(completed dt-train --data data/)" "data/one data/two"
expect_equal "$(completed dt-train --steps '')" ""
expect_equal "$(completed dt-allreduce-bench -o all_reduce,broad)" "all_reduce,broadcast"
expect_equal "$(completed dt-checkpoint re)" "repair reshard"
expect_equal "$(completed dt-checkpoint --layout = tp=2 re)" "repair reshard" "a value is no command"
expect_equal "$(completed dt-checkpoint list data/)" "data/one data/two"
expect_equal "$(completed dt-shard-data --out x data/)" "data/config.json data/one data/two"
expect_equal "$(completed dt-merge --format '')" "h5 hf"

command -v zsh >/dev/null || skip "zsh is not installed: its completions were not tried"
for tool in dt-allreduce-bench dt-checkpoint dt-merge dt-shard-data dt-train; do
  file=$share/zsh/site-functions/_$tool
  expect_exit 0 zsh -n "$file"
  # _arguments' specifications, one a word, and each option of the parser among them.
  {
    # shellcheck disable=SC2016
    echo '_arguments() { print -rl -- "$@" }'
    cat "$file"
  } >specifications.zsh
  expect_exit 0 zsh -f specifications.zsh
  "$tool" --help-all | sed -nE 's/^ +(-[a-z], )?--(\[no-\])?([a-z0-9-]+)( .*|$)/--\3/p' | while read -r option; do
    grep -qE -- "^\*?$option=?\[" stdout || fail "$tool: zsh does not know $option"
  done
done
