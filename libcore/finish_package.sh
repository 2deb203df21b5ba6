#!/usr/bin/env bash
# finish_package.sh GENERATOR FOLDER VERSION [PACKAGE|NAME=LICENCE]...: finishes the installed files in FOLDER before CPack packs them.
# An archive gets the shared libraries that a bare machine lacks, in lib/dt. A Debian package gets what Debian expects. Both get the licences
# of what is in them; PACKAGE, of Debian, and LICENCE, a file, are those of what is linked into dt.
set -euo pipefail
generator=${1:?usage: finish_package.sh GENERATOR FOLDER VERSION [PACKAGE|NAME=LICENCE]...} folder=$2 version=$3
shift 3
command -v patchelf >/dev/null || { echo 'finish_package.sh needs patchelf' >&2 && exit 1; }
linked_in=("$@")
# What belongs to a site stays out: its MPI, which fits its network and launcher, and its drivers.
outside='^lib(mpi|open-rte|open-pal|pmi|cuda|nvidia-)'

# set_prefix WORDS: what the module file takes for dt's folder where it does not lie in it.
set_prefix() { sed -i "s|or \"$root/*\"|or $1|" "$root/share/dt/modulefiles/dt/$version.lua"; }

# record_licenses LIBRARY...: of what is linked in, and of the Debian packages that the libraries are of.
record_licenses() {
  local licenses=$root/share/doc/dt/licenses path package name
  declare -A package_of=()
  mkdir -p "$licenses"
  while IFS=: read -r package _ path; do
    package_of[${path# }]=$package
  done < <(for path in "$@"; do # as it is, and as packages knew it before /lib became a part of /usr
    printf '%s\0%s\0' "$path" "${path#/usr}"
  done | xargs -0r dpkg-query -S 2>/dev/null)
  for path in "$@"; do
    package=${package_of[$path]:-${package_of[${path#/usr}]:-}}
    [[ -n $package ]] || echo "warning: $path is of no Debian package: add its licence before you pass the archive on" >&2
    printf '%s %s\n' "${path##*/}" "${package:-unknown}"
  done >"$licenses/libraries.txt"
  [[ -s $licenses/libraries.txt ]] || rm "$licenses/libraries.txt"
  for name in "${package_of[@]}" "${linked_in[@]}"; do
    path=/usr/share/doc/$name/copyright
    [[ $name != *=* ]] || path=${name#*=}
    [[ ! -f $path ]] || install -m 644 "$path" "$licenses/${name%%=*}"
  done
  # Debian's texts refer to these.
  { grep -rhoE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$licenses" || true; } | sort -u | while read -r path; do
    [[ ! -f $path ]] || install -D -m 644 "$path" "$licenses/common-licenses/${path##*/}"
  done
}

if [[ $generator = DEB ]]; then
  root=$folder/usr
  set_prefix '"/usr"'
  # Libraries come from packages. Any other folder in their path might be anybody's on another machine.
  patchelf --remove-rpath "$root"/bin/*
  [[ ! -d $root/share/zsh ]] || mv "$root/share/zsh/site-functions" "$root/share/zsh/vendor-completions"
  find "$root/share/man" -type f -exec gzip -9n {} +
  cp "$root/share/doc/dt/LICENSE" "$root/share/doc/dt/copyright"
  record_licenses
else
  root=$folder
  set_prefix 'LmodError("this copy of the module file must name the folder of dt")'
  bash "$(dirname "${BASH_SOURCE[0]}")/bundle_libraries.sh" "$root/lib/dt" "$outside" "$root"/bin/* >"$folder.libraries"
  # shellcheck disable=SC2016 # for the loader
  patchelf --set-rpath '$ORIGIN/../lib/dt' "$root"/bin/*
  mapfile -t libraries < <(xargs -rd '\n' realpath <"$folder.libraries")
  record_licenses "${libraries[@]}"
fi
