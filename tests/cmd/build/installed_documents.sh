#!/usr/bin/env bash
# All documents are installed, in the tree of the repository, and links between them hold there. Their links to sources do not.
source "$(dirname "${BASH_SOURCE[0]}")/../documents.sh"
list_documents "$(realpath "$DT_TESTS/..")"
expected=${documents[*]}
DESTDIR=$PWD/root expect_exit 0 cmake --install "$DT_BUILD" --component documents --prefix "/a prefix"
installed="$PWD/root/a prefix/share/doc/dt"
check_links "$installed" '(\.md|^)(#|$)'
expect_equal "${documents[*]}" "$expected" "installed documents"
[[ -s $installed/LICENSE ]] || fail "the licence is not installed"
