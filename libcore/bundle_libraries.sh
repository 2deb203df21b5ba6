#!/usr/bin/env bash
# bundle_libraries.sh LIB OUTSIDE FILE...: copies to the folder LIB all shared libraries that the files need, and lets them find each other there.
# Prints the path of each copied library. glibc stays out, and so do libraries whose name matches OUTSIDE (an extended regular expression, or
# empty) with what only they need.
set -euo pipefail
lib=${1:?usage: bundle_libraries.sh LIB OUTSIDE FILE...} outside=$2
shift 2
glibc='^(ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libutil|libmvec|libanl)[-.]'

declare -A paths=()
while read -r name path; do
  paths[$name]=$path
done < <(ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}')
mkdir -p "$lib"
files=("$@")
for ((i = 0; i < ${#files[@]}; ++i)); do
  while read -r name; do
    [[ ! $name =~ $glibc && ! -e $lib/$name ]] || continue
    [[ -z $outside || ! $name =~ $outside ]] || continue
    [[ -n ${paths[$name]:-} ]] || { echo "bundle_libraries.sh: $name is missing, which ${files[i]} needs" >&2 && exit 1; }
    install -m 644 "${paths[$name]}" "$lib/$name"
    files+=("${paths[$name]}")
    echo "${paths[$name]}"
  done < <(patchelf --print-needed "${files[i]}")
done
strip --strip-debug "$lib"/*
# The loader replaces $ORIGIN by the folder of the file that needs another. A path without it would be anybody's on another machine.
# shellcheck disable=SC2016 # for the loader
patchelf --set-rpath '$ORIGIN' "$lib"/*
