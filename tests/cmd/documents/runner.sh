#!/usr/bin/env bash
# What the run of documents finds in them: commands that fail, commands outside of console fences, and marks that do not exist.
source "$(dirname "${BASH_SOURCE[0]}")/../documents.sh"

# document TEXT: with ~ for each backquote of a fence.
document() { printf '%b\n' "${1//\~/\`}" >document.md; }
# finds REGEX: the document is refused, or its run fails, with a message.
finds() {
  expect_exit 1 run_document document.md document.md
  expect_match stderr "$1"
}

# shellcheck disable=SC2016 # the document expands it
document 'Text\n\n~~~console\n$ x=1\noutput\n$ test $x = 1 && \\\\\n    touch made\n~~~\n\n~~~console exit=3\n$ test -e made\n$ cat >f <<END; exit_with() { return 3; }
> $x
> END\n$ grep -qx 1 f && exit_with\n~~~\n~~~console gpu\n$ false\n$ false\n~~~\n~~~console build\n$ false\n~~~\n~~~text\n$x\n~~~'
expect_exit 0 run_document document.md document.md
expect_match stdout '^document.md +5 ran in +[0-9]+ s; not run: 2 gpu, 1 build$'

document '~~~console\n$ true\n$ false | true\n~~~'
finds '^document.md:3: exit 1, not 0: false'
document '~~~console exit=5\n$ true\n~~~'
finds '^document.md:2: exit 0, not 5: true$'
document '~~~console gpus\n$ true\n~~~'
finds "^document.md:1: 'gpus' is no mark"
document '~~~sh\ntrue\n~~~'
finds "^document.md:1: a fence of 'sh'"
document '~~~\nmake\n~~~'
finds "^document.md:1: a fence of ''"
document '~~~text\n$ true\n~~~'
finds "^document.md:2: a command in a fence of 'text'"
document '~~~console\nmake build\n~~~'
finds '^document.md:3: a console fence without a command'
document 'Do:\n\n    make build\n'
finds '^document.md:3: an indented command'
document '~~~console\n$ true\n'
finds '^document.md:[34]: a fence is not closed'
document '~~~console site\n$ sbatch (\n~~~'
finds '^document.md:2: not a command of bash'
