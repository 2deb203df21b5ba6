#!/usr/bin/env bash
# Wrong commands and paths: the documented exit codes, and messages that name the thing and the remedy.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
make_checkpoint run 10 >/dev/null || fail "make_checkpoint"
ckpt=run/checkpoints/step-00000010.g1

expect_exit 0 dt-checkpoint --help
for command in "list RUN" "show CKPT" "verify CKPT..." "latest RUN" "diff A B" "reshard CKPT OUT" "prune RUN" "import HF_FOLDER OUT" "repair CKPT"; do
  expect_match stdout "^  $command( |$)"
done
expect_exit 0 dt-checkpoint --version; expect_match stdout "^dt-checkpoint [0-9]"

expect_exit 2 dt-checkpoint; expect_match stderr "expected list, show, verify, latest, diff, reshard, prune, import, repair"
expect_exit 2 dt-checkpoint lst run; expect_match stderr "unknown command 'lst'; did you mean 'list'\? expected list"
expect_exit 2 dt-checkpoint inspect run; expect_match stderr "did you mean 'show'"
expect_exit 2 dt-checkpoint list; expect_match stderr "dt-checkpoint list RUN"
expect_exit 2 dt-checkpoint list run run
expect_exit 2 dt-checkpoint verify; expect_match stderr "verify CKPT"
expect_exit 2 dt-checkpoint diff "$ckpt"; expect_match stderr "diff A B"
expect_exit 2 dt-checkpoint reshard "$ckpt"; expect_match stderr "reshard CKPT OUT"
expect_exit 2 dt-checkpoint show "$ckpt" --layout dp=2; expect_match stderr "--layout is an option of 'reshard', not of 'show'"
expect_exit 2 dt-checkpoint show "$ckpt" --overwrite; expect_match stderr "--overwrite is an option of 'reshard'"
expect_exit 2 dt-checkpoint latest run --jsn; expect_match stderr "jsn"

for command in list latest show verify; do
  expect_exit 3 dt-checkpoint "$command" nowhere; expect_match stderr "nowhere"
done
expect_exit 3 dt-checkpoint diff "$ckpt" nowhere; expect_match stderr "nowhere does not exist"
for command in show verify; do
  expect_exit 3 dt-checkpoint "$command" run; expect_match stderr "run is a run directory"
done
for command in list latest; do
  expect_exit 3 dt-checkpoint "$command" "$ckpt"; expect_match stderr "is a checkpoint"
done
echo text >file
for command in list latest show verify; do expect_exit 3 dt-checkpoint "$command" file; expect_match stderr "file"; done

# Another version says which, with or without a fitting digest.
cp -r "$ckpt" other
sed -i 's/"version": 1/"version": 3/' other/manifest.json
expect_exit 3 dt-checkpoint show other; expect_match stderr "other/manifest.json has version 3.*reads versions 1 and 2"
expect_exit 3 dt-checkpoint diff other "$ckpt"; expect_match stderr "version 3"
expect_exit 5 dt-checkpoint verify other; expect_match stdout "version 3"

# Output that cannot be written.
for command in "list run" "list run --json" "latest run" "show $ckpt" "show $ckpt --json" "verify $ckpt" "diff $ckpt $ckpt" \
  "diff --json $ckpt $ckpt" "--help" "--version"; do
  code=0
  # shellcheck disable=SC2086
  dt-checkpoint $command >/dev/full 2>stderr || code=$?
  expect_equal "$code" 4 "exit of dt-checkpoint $command with a full stdout"
  expect_match stderr "standard output"
done
