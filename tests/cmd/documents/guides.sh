#!/usr/bin/env bash
# Every command that a document shows, and that is not marked, runs and ends with the exit code shown.
source "$(dirname "${BASH_SOURCE[0]}")/../documents.sh"

root=$(realpath "$DT_TESTS/..")
documents=()
list_documents "$root"
failed=()
for document in "${documents[@]}"; do
  run_document "$root/$document" "$document" || failed+=("$document")
done
((${#failed[@]} == 0)) || fail "${failed[*]}"
