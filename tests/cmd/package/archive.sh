#!/usr/bin/env bash
# The archive runs wherever it is unpacked, with no library from outside but glibc and MPI, and has the licences of what it brings.
source "$(dirname "${BASH_SOURCE[0]}")/../packages.sh"
expect_match "$DT_BUILD/CPackConfig.cmake" '^set\(CPACK_GENERATOR "TXZ'
make_package TGZ "dt-$version-$(uname -m)-[a-z]+[0-9]+\.tar\.gz" # quicker than xz
mkdir "another place"
tar -C "another place" --no-same-owner --strip-components 1 -xf "$package"
if grep -rIl "$PWD/packages" "another place"; then fail "files name the folder that they were packed in"; fi
rm -r packages
root="$PWD/another place"
try_tools "$root/bin"
expect_exit 0 bash "$root/share/dt/jobs/submit.sh" --help

# A path of libraries without $ORIGIN would be anybody's on another machine.
for file in "$root"/bin/* "$root"/lib/dt/*; do
  # shellcheck disable=SC2016 # for the loader
  expected='$ORIGIN/../lib/dt'
  # shellcheck disable=SC2016
  [[ $file == "$root"/bin/* ]] || expected='$ORIGIN'
  expect_equal "$(patchelf --print-rpath "$file")" "$expected" "$file"
done

# libraries_of FILE: NAME PATH of each.
libraries_of() { ldd "$1" | sed -nE 's/^\s*(\S+) => (.+) \(0x.*/\1 \2/p'; }
glibc='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv))\.'
mpi=$(libraries_of "$root/bin/dt-train" | sed -nE 's/^libmpi[^ ]* //p')
of_mpi=" $(basename "$mpi") $(libraries_of "$mpi" | cut -d ' ' -f 1 | tr '\n' ' ')"
for file in "$root"/bin/* "$root"/lib/dt/*; do
  for name in $(patchelf --print-needed "$file"); do
    [[ $name =~ $glibc || $name == "$(basename "$mpi")" || -e $root/lib/dt/$name ]] || fail "${file##*/} needs $name, which is not in the archive"
  done
  libraries=$(libraries_of "$file")
  while read -r name path; do # what MPI needs may come from its site
    [[ $path == "$root"/* || $name =~ $glibc || ($libraries == *"$mpi"* && $of_mpi == *" $name "*) ]] || fail "${file##*/} takes $name from $path"
  done <<<"$libraries"
done
[[ ! -e $root/lib/dt/$(basename "$mpi") ]] || fail "the archive has an MPI"

licenses=$root/share/doc/dt/licenses
expect_equal "$(wc -l <"$licenses/libraries.txt")" "$(find "$root/lib/dt" -type f | wc -l)" "libraries with a licence"
while read -r name package; do
  [[ -s $licenses/$package ]] || fail "there is no licence of $name, of $package"
done <"$licenses/libraries.txt"
