#!/usr/bin/env bash
# The Debian package has its dependencies, can be installed beside the packages of this machine, runs, and can be removed.
source "$(dirname "${BASH_SOURCE[0]}")/../packages.sh"
for program in dpkg dpkg-shlibdeps file; do
  command -v "$program" >/dev/null || skip "a Debian package takes $program, which is not installed"
done
architecture=$(dpkg --print-architecture)
make_package DEB "dt_${version}_$architecture-[a-z]+[0-9]+\.deb" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip # quicker than xz
depends=" $(dpkg-deb -f "$package" Depends | tr -d ,) "
for name in libc6 'lib(openmpi|mpich)[0-9]+' 'libhdf5-[0-9-]+' 'libfmt[0-9]+'; do
  [[ $depends =~ \ $name\  ]] || fail "it does not depend on $name: $depends"
done

# dpkg looks for dependencies among this machine's packages, and installs into an empty root.
mkdir -p root/var/lib/dpkg/{info,updates,triggers}
cp /var/lib/dpkg/status /var/lib/dpkg/arch root/var/lib/dpkg/ 2>/dev/null || true
package_manager=(dpkg --root="$PWD/root" --force-not-root --log=/dev/null)
expect_exit 0 "${package_manager[@]}" --install "$package"
expect_equal "$(dpkg-query --admindir=root/var/lib/dpkg -W -f='${Status} ${Version}' dt)" "install ok installed $version"
share=root/usr/share
for file in doc/dt/{README.md,copyright,licenses/libarchive-dev} bash-completion/completions/dt-train zsh/vendor-completions/_dt-train \
  man/man1/dt-train.1.gz man/man5/dt-formats.5.gz man/man7/dt-layouts.7.gz dt/jobs/train.sbatch; do
  [[ -s $share/$file ]] || fail "the package has no $file"
done
expect_match "$share/dt/modulefiles/dt/$version.lua" 'or "/usr"$'
for file in root/usr/bin/*; do
  expect_equal "$(patchelf --print-rpath "$file")" '' "path of libraries of $file"
done
try_tools "$PWD/root/usr/bin"
expect_exit 0 "${package_manager[@]}" --purge dt
expect_absent root/usr/bin root/usr/share/dt root/usr/share/doc/dt
