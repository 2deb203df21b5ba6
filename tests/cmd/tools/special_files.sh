#!/usr/bin/env bash
# What is no regular file is refused by its kind where a file is expected, without waiting; names and texts of files do not
# reach a terminal raw.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
echo 'some text' >text
mkfifo pipe

# A file of options and a tokenizer's file may be pipes; a signal ends the wait for a writer.
expect_exit 143 timeout --preserve-status 0.3 dt-shard-data --out d --tokenizer pipe text
expect_exit 143 timeout --preserve-status 0.3 dt-shard-data --out d --config pipe text
expect_exit 143 timeout --preserve-status 0.3 dt-train --config pipe
expect_exit 2 dt-shard-data --out d --config <(echo 'nothing = 1') text
expect_match stderr "'nothing'"
expect_exit 3 dt-shard-data --out d --tokenizer <(echo '{}') text
expect_match stderr '/dev/fd/.*: '
expect_exit 3 dt-shard-data --out d --tokenizer /dev/zero text
expect_match stderr '/dev/zero is a character device'
mkdir model
mkfifo model/config.json model/model.safetensors
expect_exit 3 dt-checkpoint import model out
expect_match stderr 'config.json is a FIFO'

# Inputs may be pipes, as ever.
expect_exit 0 dt-shard-data --out d --quiet <(cat text)
expect_exit 0 dt-shard-data --show d
rm d/dataset.json
mkfifo d/dataset.json
expect_exit 3 dt-shard-data --show d
expect_match stderr 'dataset.json is a FIFO'

name=$'a\n\x1b]0;title\x07\xff'
expect_exit 3 dt-shard-data --out e "$name"
expect_match stderr 'a\\n\\u001B\]0;title\\u0007\\xFF'
[[ $(wc -l <stderr) == 1 ]] || fail "a name begins a line: $(cat stderr)"
