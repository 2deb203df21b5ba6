#!/usr/bin/env bash
# A source tree that was unpacked is built and installed by a user without root, git, a package manager and, where root runs this case,
# a network: by make DEPS=off and by plain CMake. What is built is the smallest tool.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
tool=dt-shard-data

# Every program of PATH but those that manage packages or versions.
mkdir programs source
IFS=: read -ra folders <<<"$PATH"
for folder in "${folders[@]}"; do
  [[ $folder == "$DT_BUILD/bin" || ! -d $folder ]] || ln -s "$folder"/* programs/ 2>/dev/null || true
done
rm -f programs/{apt,apt-*,dpkg,dpkg-*,dnf,yum,rpm,git,git-*,pip*,sudo,"$tool"}
tar -C "$DT_TESTS/.." --exclude-vcs --exclude='./build*' --exclude="./${DT_BUILD##*/}" --exclude=./demo -c . | tar -C source -x

# With a compiler's cache the commands are those of the build under test. Without one nothing is optimized, to be quick.
settings=(PATH="$PWD/programs" HOME="$PWD" TMPDIR="$PWD" CUDA=off PREFIX=/opt/dt)
if command -v ccache >/dev/null; then
  mkdir cache
  werror=$(sed -nE 's/^CMAKE_COMPILE_WARNING_AS_ERROR:.*=(.+)/\1/p' "$DT_BUILD/CMakeCache.txt")
  settings+=(CCACHE_READONLY=1 CCACHE_TEMPDIR="$PWD" WERROR="${werror:-off}")
  cache=$(ccache --get-config=cache_dir)
  if [[ $(id -u) = 0 ]]; then
    settings+=(CCACHE_DIR="$PWD/cache")
    export cache # mounted there, since the user may not enter root's
  else
    settings+=(CCACHE_DIR="$cache")
  fi
else
  settings+=(CMAKE_BUILD_TYPE=None WERROR=off)
fi
unset DESTDIR

user=()
if [[ $(id -u) = 0 ]]; then
  uid=60001
  chown -R "$uid:$uid" . && chmod 755 .
  unshare --net --mount true || skip "root may not make a namespace without a network here"
  # Open MPI's compiler warns on stderr, which CMake reads, where there is no interface at all.
  # shellcheck disable=SC2016 # expanded in the namespace
  user=(unshare --net --mount bash -c '[[ -z ${cache:-} ]] || mount --bind "$cache" cache
    ip link set lo up
    exec setpriv --reuid "$0" --regid "$0" --clear-groups --inh-caps=-all "$@"' "$uid")
fi
# as_user COMMAND...
as_user() { "${user[@]}" env "${settings[@]}" "$@"; }

# DEPS=off asks no package manager, not even what is installed.
for program in apt-get dpkg-query; do
  # shellcheck disable=SC2016 # for the program
  printf '#!/bin/sh\necho "$0 $*" >>"%s/called"\nexit 1\n' "$PWD" >"programs/$program"
  chmod +x "programs/$program"
done
expect_exit 0 as_user make -C source build DEPS=off TOOLS="$tool"
[[ ! -e called ]] || fail "make DEPS=off calls $(head -n 1 called)"
[[ -x source/build/bin/$tool ]] || fail "make built no $tool"
rm programs/apt-get programs/dpkg-query

# Without apt make mentions no packages, and CMake alone has nothing left to build in the same folder.
expect_exit 0 as_user make -C source build TOOLS="$tool"
if grep -E 'install|fetch|apt' stderr; then fail "make speaks of packages"; fi
expect_exit 0 as_user cmake -S source -B source/build -G Ninja -DCMAKE_INSTALL_PREFIX=/opt/dt
expect_exit 0 as_user cmake --build source/build --target "$tool"
if grep 'Building CXX' stdout; then fail "CMake alone builds otherwise than make"; fi
for component in "$tool" documents; do
  expect_exit 0 as_user env DESTDIR="$PWD/root" cmake --install source/build --component "$component"
done
expect_exit 0 as_user env DESTDIR="$PWD/made" make -C source install TOOLS="$tool"
expect_equal "$(cd made && find . | sort)" "$(cd root && find . | sort)" "what make installs"
printf 'Some text.\n' >text
expect_exit 0 as_user "root/opt/dt/bin/$tool" --out shards text
[[ -s shards/dataset.json && -s root/opt/dt/share/doc/dt/README.md && -x root/opt/dt/share/dt/jobs/submit.sh ]] || fail "something is not installed"
