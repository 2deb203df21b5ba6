#!/usr/bin/env bash
# Layering and quarantine, headers that compile alone, sentences of documents, formatting, shell scripts. Run from anywhere in the repository.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
status=0
step() {
  local name=$1
  shift
  if "$@"; then echo "lint: $name ok"; else echo "lint: $name FAILED" >&2 && status=1; fi
}

mapfile -t sources < <(find libcore cmd tests -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' | sort)
mapfile -t scripts < <(find jobs datasets libcore tests -name '*.sh' -o -name '*.sbatch' | sort; ls .ci/run .ci/make tests/slurm/cluster)

step "arrows, quarantine, circles" bash tests/lint/check_includes.sh
step "JSON is read within bounds" bash tests/lint/check_json.sh
step "environment variables are in the table" bash tests/lint/check_environment.sh
step "comments open with a verb or a subject" bash tests/lint/check_comments.sh
step "names are the field's" bash tests/lint/check_names.sh
step "sentences of documents are short" bash tests/lint/check_sentences.sh
step "README shows the dependencies" bash tests/lint/check_dependencies.sh
step "paths in documents exist" bash tests/lint/check_paths.sh
step "repeated lines and dates are equal" bash tests/lint/check_copies.sh
step "the checks can fail" bash tests/lint/selftest.sh
step "headers compile alone" bash tests/lint/check_headers.sh
several=(xargs -0 -n 4 -P "$(nproc)") # files at a time
step "clang-format" "${several[@]}" -a <(printf '%s\0' "${sources[@]}") clang-format --dry-run --Werror
step "shellcheck" "${several[@]}" -a <(printf '%s\0' "${scripts[@]}") shellcheck --external-sources --source-path=SCRIPTDIR
exit "$status"
